# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The privacy loss of a run with the private mean."""

import functools
import math

import dp_accounting
from dp_accounting import rdp


# Takes half a second, and is called repeatedly.
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

  Neighboring populations differ in the images of one client, so that the sum
  may change by two clipping norms, and the noise multiplier counts half.
  Cohorts have a fixed size, are drawn without replacement, and are secret.
  Renyi divergences are composed over rounds, without round 0 (Wang, Balle,
  Kasiviswanathan, 2019). Libraries that assume Poisson sampling, and neighbors
  that differ by adding or removing a client, report a smaller epsilon. It is
  infinity without noise, 0 before any round or without clients.
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
