# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The seeds of programs that train more than once."""

from absl import flags

from launch import data_flags
from launch import program

_MAX_SEED = 2**31 - 1

SEEDS = flags.DEFINE_list(
  'seeds', None, 'Seeds to train with, with commas. By default that of --seed.'
)


def resolve() -> list[int]:
  """Returns the seeds, in their order.

  Raises:
    program.FlagError: If there are none, if one is there twice or is no seed,
      or if --seed is given too.
  """
  if SEEDS.value is None:
    return [data_flags.SEED.value]
  with program.blame(data_flags.SEED, ValueError):
    if flags.FLAGS[data_flags.SEED.name].present:
      raise ValueError('--seeds says it all; leave this out')
  with program.blame(SEEDS, ValueError, value=','.join(SEEDS.value)):
    return _parse(SEEDS.value)


def _parse(texts: list[str]) -> list[int]:
  if not texts:
    raise ValueError('name at least one')
  # A decimal of Python may have underscores, spaces and a sign too.
  if not all(
    text.isascii() and text.isdecimal() and int(text) <= _MAX_SEED
    for text in texts
  ):
    raise ValueError(f'seeds are whole numbers from 0 to {_MAX_SEED}')
  seeds = [int(text) for text in texts]
  if len(set(seeds)) < len(seeds):
    raise ValueError('each seed is trained with once')
  return seeds
