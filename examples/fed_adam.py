# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""FedAdam: SemiFL whose server applies the clients' mean update by Adam.

  python -m launch.train examples.fed_adam:FED_ADAM --task=digits

TFF's Adam corrects the bias of its averages in the first rounds; Algorithm 2 of
the paper does not. Any other optimizer of TFF can replace Adam.

References:
  Reddi, Charles, Zaheer, Garrett, Rush, Konečný, Kumar, McMahan. Adaptive
  federated optimization. ICLR 2021.
"""

import dataclasses

import tensorflow_federated as tff

import tff_semifl as sfl


@dataclasses.dataclass(frozen=True, kw_only=True)
class FedAdam(sfl.Alternating):
  """SemiFL whose server applies the clients' mean update by Adam."""

  # beta_1 of the paper.
  usual = {'global_momentum': 0.9}

  global_learning_rate: float = sfl.setting(
    0.01, "Learning rate of Adam for the clients' mean update."
  )

  def create_global_optimizer(self) -> tff.learning.optimizers.Optimizer:
    return tff.learning.optimizers.build_adam(
      self.global_learning_rate,
      beta_1=self.client_momentum.global_momentum,
      beta_2=0.99,
      epsilon=1e-3,
    )


FED_ADAM = FedAdam(client=sfl.FixMix())
