# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The aggregator that the flags choose, and what it costs in privacy."""

from collections.abc import Callable
import functools
import pathlib
from typing import NamedTuple

import tensorflow_federated as tff

from launch import aggregator_flags as flags
from launch import program
from launch import run_flags
from launch import training_flags
from tff_semifl import privacy_key as privacy_key_lib
from tff_semifl.algorithms import aggregators
from tff_semifl.programs import durable_files
from tff_semifl.programs import privacy
from tff_semifl.programs import privacy_key_file


class AggregatorSettings(NamedTuple):
  """The flags of the chosen aggregator; None for those it has no use for."""

  clipping_quantile: float | None
  noise_multiplier: float | None
  clipping_norm: float | None
  privacy_delta: float | None
  insecure_fixed_privacy_key: str | None
  quantization_bits: int | None


def resolve(batch_norm_statistics: str | None) -> AggregatorSettings:
  """Returns the flags with all defaults filled in.

  Args:
    batch_norm_statistics: Of whose images, or None for a model without.

  Raises:
    program.FlagError: If one is given that has no use, or is wanting.
  """

  def value_of(flag, default, aggregator):
    return program.resolve(
      flag,
      default,
      is_used=flags.AGGREGATOR.value == aggregator,
      no_use=f'it is of --aggregator={aggregator} alone',
    )

  settings = AggregatorSettings(
    clipping_quantile=value_of(flags.CLIPPING_QUANTILE, 0.8, 'robust'),
    noise_multiplier=value_of(
      flags.NOISE_MULTIPLIER, None, 'differential_privacy'
    ),
    clipping_norm=value_of(flags.CLIPPING_NORM, 1.0, 'differential_privacy'),
    privacy_delta=value_of(flags.PRIVACY_DELTA, 1e-5, 'differential_privacy'),
    insecure_fixed_privacy_key=value_of(
      flags.INSECURE_FIXED_PRIVACY_KEY, None, 'differential_privacy'
    ),
    quantization_bits=value_of(flags.QUANTIZATION_BITS, 8, 'compression'),
  )
  if flags.AGGREGATOR.value == 'differential_privacy':
    _check_privacy(settings, batch_norm_statistics)
  return settings


def _check_privacy(
  settings: AggregatorSettings, batch_norm_statistics: str | None
) -> None:
  """Raises an error if what was asked for is not private."""
  with program.blame(flags.AGGREGATOR, ValueError):
    if settings.noise_multiplier is None:
      raise ValueError('needs --noise_multiplier, 1 say')
    if batch_norm_statistics in ('federated', 'pooled'):
      raise ValueError(
        f'--batch_norm_statistics={batch_norm_statistics} tells of the images'
        ' of clients without noise; use server, or --normalization=group'
      )
    if training_flags.KEEP_CLIENT_MOMENTUM.value:
      raise ValueError(
        'with --keep_client_momentum what a client sends depends on the rounds'
        ' that it took part in before, which are secret, and epsilon is not'
        ' computed for that; leave --keep_client_momentum out'
      )


def obtain_privacy_key(
  settings: AggregatorSettings, folder: pathlib.Path
) -> privacy_key_lib.PrivacyKey | None:
  """Returns the key that noise and cohorts follow from.

  It is the fixed one, if the flags say so; that of an experiment that was
  begun; or a new one. Nothing is written.

  Args:
    settings: The flags.
    folder: The experiment's, which need not be there.

  Returns:
    The key, or None if nothing is private.

  Raises:
    program.FlagError: If the folder has a key that cannot be used.
  """
  if settings.noise_multiplier is None:
    return None
  if settings.insecure_fixed_privacy_key is not None:
    return privacy_key_lib.PrivacyKey(
      bytes.fromhex(settings.insecure_fixed_privacy_key)
    )
  with program.blame(run_flags.OUTPUT_DIR, durable_files.OutputError):
    found = privacy_key_file.read(folder / privacy_key_file.NAME)
  return found or privacy_key_lib.PrivacyKey.draw()


def create_aggregator(
  settings: AggregatorSettings,
  clients_per_round: int,
  privacy_key: privacy_key_lib.PrivacyKey | None,
) -> tff.aggregators.AggregationFactory:
  """Creates the aggregator.

  Args:
    settings: The flags.
    clients_per_round: Clients in a round.
    privacy_key: From `obtain_privacy_key`.
  """
  create = {
    'mean': aggregators.build_mean,
    'robust': lambda: aggregators.build_robust_mean(
      clipping_quantile=settings.clipping_quantile
    ),
    'differential_privacy': lambda: aggregators.build_private_mean(
      noise_multiplier=settings.noise_multiplier,
      clipping_norm=settings.clipping_norm,
      clients_per_round=max(clients_per_round, 1),
      key=privacy_key,
    ),
    'compression': lambda: aggregators.build_quantized_mean(
      bits=settings.quantization_bits
    ),
  }
  return create[flags.AGGREGATOR.value]()


def create_epsilon_fn(
  settings: AggregatorSettings, num_clients: int, clients_per_round: int
) -> Callable[[int], float] | None:
  """Returns round -> epsilon spent, or None if none can be claimed.

  Args:
    settings: The flags.
    num_clients: All there are.
    clients_per_round: Of these, in a round.

  Raises:
    program.FlagError: If delta promises nothing.
  """
  if settings.noise_multiplier is None:
    return None
  with program.blame(
    flags.PRIVACY_DELTA, ValueError, value=settings.privacy_delta
  ):
    if settings.privacy_delta * num_clients >= 1:
      raise ValueError(
        f'must be less than 1 / {num_clients}, the number of clients: else all'
        ' that one of them has may be made public'
      )
  if settings.insecure_fixed_privacy_key is not None:
    return None
  compute = functools.partial(
    privacy.compute_epsilon,
    noise_multiplier=settings.noise_multiplier,
    num_clients=num_clients,
    clients_per_round=clients_per_round,
    delta=settings.privacy_delta,
  )
  return lambda round_num: compute(num_rounds=round_num)
