# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The numbers that all systems of the benchmark have in common (E.1)."""

import dataclasses
import functools

from tff_semifl import optimizers
from tff_semifl import schedules
from tff_semifl.models import functional
from tff_semifl.work import local_steps
from tff_semifl.work import running_statistics

# An epoch is 65,536 images in batches of 64, however many there are.
STEPS_PER_EPOCH = 1024


@dataclasses.dataclass(frozen=True, kw_only=True)
class BenchmarkHyperparameters:
  """How server and users train. Defaults are those of CIFAR-10 (Table A.1).

  For SVHN, `schedule_steps` is 40 * 1024 and `schedule_half_turns` 2.3; for
  EMNIST, `learning_rate` is 0.03, `warm_up_steps` 0 and `schedule_steps`
  100 * 1024 (D43).

  Attributes:
    clients_per_round: C_k, users that train and upload in each round.
    num_groups: S, groups that are averaged apart; 1 is federated averaging.
    seed: The run's seed.
    steps_per_round: T, steps of every node between two averages.
    batch_size: B, images in a step.
    confidence_threshold: tau, in (0, 1].
    learning_rate: gamma, the highest (D44).
    learning_rate_floor: epsilon, the least after the warm-up as a share of it.
    warm_up_steps: e * M / B.
    schedule_steps: Where the schedule's cosine has turned by
      `schedule_half_turns`, warm-up included; not where training ends.
    schedule_half_turns: c of equation 10; 7/16 is FixMatch's, which the
      authors ran on CIFAR-10 and EMNIST (D43).
    momentum: Nesterov's (D45), in [0, 1).
    weight_decay: Of all parameters. Nothing is clipped (D45).
    max_update_norm_ratio: As in `Hyperparameters`.
    return_given_labels: Likewise.
  """

  clients_per_round: int
  num_groups: int = 1
  seed: int = 0
  steps_per_round: int = 16
  batch_size: int = 64
  confidence_threshold: float = 0.95
  learning_rate: float = 0.146
  learning_rate_floor: float = 1e-4
  warm_up_steps: int = 5 * STEPS_PER_EPOCH
  schedule_steps: int = 200 * STEPS_PER_EPOCH
  schedule_half_turns: float = 7 / 16
  momentum: float = 0.9
  weight_decay: float = 1e-4
  max_update_norm_ratio: float = 10.0
  return_given_labels: bool = False

  def create_steps(
    self, classifier: functional.ImageClassifier
  ) -> local_steps.LocalSteps:
    """Creates how every node trains in a round.

    Args:
      classifier: The model. If it has static batch normalisation, each node
        has running averages of its statistics (D48).
    """
    return local_steps.LocalSteps(
      num_steps=self.steps_per_round,
      batch_size=self.batch_size,
      optimizer=running_statistics.track(
        optimizers.build_nesterov_sgd(
          momentum=self.momentum,
          weight_decay=self.weight_decay,
          clip_norm=None,
        ),
        classifier,
      ),
      learning_rate_fn=functools.partial(
        schedules.warm_up_and_cosine,
        base_value=self.learning_rate,
        warm_up_steps=self.warm_up_steps,
        total_steps=self.schedule_steps,
        half_turns=self.schedule_half_turns,
        floor=self.learning_rate_floor,
      ),
    )
