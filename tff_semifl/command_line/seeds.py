# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The flag --seeds of programs that train more than once."""

from absl import flags

from tff_semifl.command_line import program

_MAX_SEED = 2**31 - 1

_SEEDS = flags.DEFINE_list(
  'seeds',
  None,
  'Seeds to train with, separated by commas; by default that of --seed, or 0.',
)


def parse(default: int) -> list[int]:
  """The seeds in their order.

  Args:
    default: The only seed if the flag is not given.
  """
  if _SEEDS.value is None:
    return [default]
  with program.blame(_SEEDS, ValueError):
    if 'seed' in flags.FLAGS and flags.FLAGS['seed'].present:
      raise ValueError('--seeds replaces --seed; leave --seed out')
    return _parse(_SEEDS.value)


def _parse(texts: list[str]) -> list[int]:
  if not texts:
    raise ValueError('name at least one')
  # `int` would also accept underscores, spaces and a sign.
  if not all(
    text.isascii() and text.isdecimal() and int(text) <= _MAX_SEED
    for text in texts
  ):
    raise ValueError(f'seeds are whole numbers from 0 to {_MAX_SEED}')
  seeds = [int(text) for text in texts]
  if len(set(seeds)) < len(seeds):
    raise ValueError('each seed is trained with once')
  return seeds
