# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""FedProx: SemiFL with a proximal term in the client's loss.

  python -m launch.train examples.fed_prox:FED_PROX --proximal_weight=0.1

References:
  Li, Sahu, Zaheer, Sanjabi, Talwalkar, Smith. Federated optimization in
  heterogeneous networks. MLSys 2020.
"""

import dataclasses
from typing import Any

import tensorflow as tf

import tff_semifl as sfl


@dataclasses.dataclass(frozen=True, kw_only=True)
class FedProx(sfl.FixMix):
  """SemiFL's client with a proximal term."""

  proximal_weight: float = sfl.setting(0.01, 'mu of FedProx.')

  def loss(self, step: sfl.Step, state: Any) -> tf.Tensor:
    """SemiFL's loss plus the proximal term, mu / 2 |w - received|^2."""
    distance = step.distance(step.received)
    return super().loss(step, state) + self.proximal_weight / 2 * distance


FED_PROX = sfl.Alternating(client=FedProx())
