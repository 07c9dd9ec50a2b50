# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The seeds of programs that train more than once."""

from collections.abc import Sequence

from absl import flags

from tff_semifl.launch import program

_MAX_SEED = 2**31 - 1

HELP = 'Seeds to train with, with commas; by default the value of --seed.'


def parse(
  flag: flags.FlagHolder[Sequence[str] | None], default: int
) -> list[int]:
  """Returns the seeds, in their order.

  Args:
    flag: The flag with the seeds.
    default: The only seed if the flag is not given.

  Raises:
    program.FlagError: If the list is empty, has a seed twice or something that
      is not a seed, or if --seed is also given.
  """
  if flag.value is None:
    return [default]
  with program.blame(flag, ValueError):
    if 'seed' in flags.FLAGS and flags.FLAGS['seed'].present:
      raise ValueError('--seeds says it all; leave --seed out')
    return _parse(flag.value)


def _parse(texts: list[str]) -> list[int]:
  if not texts:
    raise ValueError('name at least one')
  # `int` alone would also accept underscores, spaces and a sign.
  if not all(
    text.isascii() and text.isdecimal() and int(text) <= _MAX_SEED
    for text in texts
  ):
    raise ValueError(f'seeds are whole numbers from 0 to {_MAX_SEED}')
  seeds = [int(text) for text in texts]
  if len(set(seeds)) < len(seeds):
    raise ValueError('each seed is trained with once')
  return seeds
