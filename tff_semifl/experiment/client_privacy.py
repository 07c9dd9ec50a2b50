# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Differential privacy of clients: key, epsilon and privacy statement.

The statement depends on recorded settings alone, so later exports can repeat
the statement.
"""

from collections.abc import Callable, Mapping
import functools
import math
import pathlib
from typing import Any

import dp_accounting
from dp_accounting import rdp

from tff_semifl import settings
from tff_semifl.experiment import checkpoints
from tff_semifl.experiment import experiment_settings
from tff_semifl.experiment import saved_experiment
from tff_semifl.files import durable_files
from tff_semifl.privacy import means
from tff_semifl.privacy import privacy_key
from tff_semifl.privacy import privacy_statement

_FIXED_KEY = 'insecure_fixed_privacy_key'


# A computation takes half a second, and is requested several times.
@functools.cache
def compute_epsilon(
  *,
  noise_multiplier: float,
  num_clients: int,
  clients_per_round: int,
  num_rounds: int,
  delta: float,
) -> float:
  """Epsilon of client-level (epsilon, delta)-differential privacy.

  Neighboring populations differ in the images of one client. The sum of clipped
  updates may then change by two clipping norms, and the effective noise
  multiplier is half of `noise_multiplier`. Cohorts are assumed to be secret, of
  a fixed size, and drawn without replacement. Renyi divergences are composed
  over all rounds except round 0 (Wang, Balle, Kasiviswanathan, 2019). Some
  libraries report a smaller epsilon, because they assume Poisson sampling and
  neighbors with one client more or less. The result is infinity without noise,
  and 0 before any round or without clients.
  """
  if not num_rounds or not clients_per_round:
    return 0.0
  if not noise_multiplier:
    return math.inf
  round_event = dp_accounting.SampledWithoutReplacementDpEvent(
    num_clients,
    clients_per_round,
    dp_accounting.GaussianDpEvent(noise_multiplier / 2),
  )
  accountant = rdp.RdpAccountant(
    neighboring_relation=dp_accounting.NeighboringRelation.REPLACE_ONE
  )
  return float(accountant.compose(round_event, num_rounds).get_epsilon(delta))


def check(experiment: experiment_settings.ExperimentSettings) -> None:
  """Raises a SettingError if the settings rule out differential privacy."""
  if experiment.selection.stop_after is not None:
    raise settings.SettingError(
      'stop_after',
      experiment.selection.stop_after,
      'with aggregator=differential_privacy the key of a run is removed after'
      ' total_rounds; leave stop_after out',
    )
  method = experiment.system.client_method
  reason = None
  if experiment.private_mean.noise_multiplier is None:
    reason = 'needs noise_multiplier, 1 say'
  elif experiment.system.labels.at_some_clients or (
    method is not None and method.weighs_clients
  ):
    reason = (
      f'gives clients of {experiment.system_name} the same weight, but they'
      ' differ; choose another'
    )
  elif settings.as_dict(experiment.system).get('keep_client_momentum'):
    reason = (
      'epsilon is not computed for clients whose momentum depends on earlier'
      ' rounds; leave keep_client_momentum out'
    )
  elif method is not None and method.keeps_memory:
    reason = 'epsilon is not computed for clients with a memory; choose another'
  if reason is not None:
    raise settings.SettingError('aggregator', 'differential_privacy', reason)


def check_statistics(kind: str | None) -> None:
  """Raises a SettingError if `batch_norm_statistics` uses clients' images."""
  if kind in ('federated', 'pooled'):
    raise settings.SettingError(
      'batch_norm_statistics',
      kind,
      'tells of the images of clients without the noise of'
      ' aggregator=differential_privacy; use server, or normalization=group',
    )


def obtain_key(
  private_mean: means.PrivateMean, folder: pathlib.Path
) -> privacy_key.PrivacyKey:
  """The secret key that seeds noise and cohorts: given, saved or new.

  Nothing is written, and the folder need not exist.
  """
  if private_mean.insecure_fixed_privacy_key is not None:
    return privacy_key.PrivacyKey(
      bytes.fromhex(private_mean.insecure_fixed_privacy_key)
    )
  found = privacy_key.read(folder / privacy_key.NAME)
  return found or privacy_key.PrivacyKey.draw()


def keep_key(
  folder: pathlib.Path, key: privacy_key.PrivacyKey, last_round: int
) -> None:
  """Saves the key of a private run, so that the run can be resumed.

  Raises an OutputError if the folder has an unfinished run with another key or
  no key, or if the file system cannot hide the key from other users.
  """
  path = folder / privacy_key.NAME
  found = privacy_key.read(path)
  if found == key:
    return
  latest = checkpoints.read_latest(folder / 'checkpoints')
  if found is None and latest is None and not (folder / 'metrics.csv').exists():
    privacy_key.write(path, key)
  elif latest is None or latest[1] < last_round:
    # With another key, rounds would publish the same updates again with new
    # noise.
    raise durable_files.OutputError(
      f'{path}, the secret key that this run was begun with, is another or'
      ' missing (it is removed when all rounds were run); put it back, or train'
      ' anew with another --experiment_name'
    )


def create_epsilon_fn(
  private_mean: means.PrivateMean, num_clients: int, clients_per_round: int
) -> Callable[[int], float] | None:
  """A function (round) -> epsilon spent; None without a privacy guarantee."""
  delta = private_mean.privacy_delta
  if delta * num_clients >= 1:
    raise settings.SettingError(
      'privacy_delta',
      delta,
      f'must be less than 1 / {num_clients}, the number of clients',
    )
  if private_mean.insecure_fixed_privacy_key is not None:
    return None
  compute = functools.partial(
    compute_epsilon,
    noise_multiplier=private_mean.noise_multiplier,
    num_clients=num_clients,
    clients_per_round=clients_per_round,
    delta=delta,
  )
  return lambda round_num: compute(num_rounds=round_num)


def describe(
  values: Mapping[str, Any], num_rounds: int
) -> privacy_statement.PrivacyStatement | None:
  """The privacy statement after `num_rounds` rounds; None without privacy."""
  if values.get('aggregator') != 'differential_privacy':
    return None
  numbers = {
    'noise_multiplier': values['noise_multiplier'],
    'num_clients': values['num_clients'],
    'clients_per_round': values['clients_per_round'],
    'num_rounds': num_rounds,
    'delta': values['privacy_delta'],
  }
  why_not = None
  if values[_FIXED_KEY] is not None:
    why_not = (
      f'--{_FIXED_KEY} was given: everybody can repeat the noise and subtract'
      ' it'
    )
  return privacy_statement.PrivacyStatement(
    epsilon=None if why_not else compute_epsilon(**numbers),
    clipping_norm=values['clipping_norm'],
    why_not_private=why_not,
    **numbers,
  )


def read(
  folder: pathlib.Path, num_rounds: int
) -> privacy_statement.PrivacyStatement | None:
  """The privacy statement of a recorded experiment."""
  return describe(saved_experiment.read_hparams(folder).flags, num_rounds)
