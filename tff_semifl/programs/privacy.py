# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""What a run with a private mean has told about its clients."""

import math

import dp_accounting
from dp_accounting import rdp


def compute_epsilon(
  *,
  noise_multiplier: float,
  num_clients: int,
  clients_per_round: int,
  num_rounds: int,
  delta: float,
) -> float:
  """Computes epsilon, of (epsilon, delta)-differential privacy of clients.

  Two populations are neighbours if one client has other images. Its update may
  then move the sum by two clipping norms, so that the noise counts for half its
  multiplier. Cohorts are drawn without replacement, each of the same size, and
  nobody but the server knows whom they are of (see `privacy_key`). Renyi
  divergences are added up over rounds (Wang, Balle, Kasiviswanathan, 2019).
  Libraries that count clients as drawn one by one, and there or not there, name
  a smaller number.

  Args:
    noise_multiplier: Standard deviation of the noise, in clipping norms.
    num_clients: All there are.
    clients_per_round: Of these, in a round.
    num_rounds: Rounds so far, without round 0.
    delta: The probability with which epsilon may not hold, in (0, 1).

  Returns:
    Epsilon; infinity without noise, 0 before any round or without clients.
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
