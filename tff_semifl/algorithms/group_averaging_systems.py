# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The systems of the benchmark of semi-supervised federated learning (E.2).

Federated averaging with the server as a member, or averaging in groups, as
`num_groups` has it; they differ in what users do with their images.

References:
  Zhang, Yao, Yang, Yan, Gonzalez, Mahoney. Benchmarking semi-supervised
  federated learning. 2020. Figure 2 and Table 3.
"""

from tff_semifl.algorithms import benchmark_hyperparameters
from tff_semifl.algorithms import federated_process
from tff_semifl.algorithms import group_averaging
from tff_semifl.algorithms import group_parts
from tff_semifl.augment import augmentation
from tff_semifl.data import pipelines
from tff_semifl.models import functional
from tff_semifl.work import consistency_training
from tff_semifl.work import labelled_steps


def build_consistency_averaging(
  classifier: functional.ImageClassifier,
  hyperparameters: benchmark_hyperparameters.BenchmarkHyperparameters,
  *,
  weak_augmentation: augmentation.Augmentation,
  strong_augmentation: augmentation.Augmentation,
) -> federated_process.FederatedProcess:
  """Builds the benchmark's own system: users train by consistency (eq. 4).

  With group normalisation and one group it is the "FedAvg solution", with more
  the "grouping-based solution".

  Args:
    classifier: The model, with group normalisation or none.
    hyperparameters: The numbers.
    weak_augmentation: For labels, and for the server.
    strong_augmentation: For what users train on.

  Raises:
    ValueError: If a group would have no slot.
  """
  steps = hyperparameters.create_steps(classifier)
  return group_averaging.compose_group_averaging_process(
    group_parts.build_group_parts(
      classifier,
      consistency_training.build_consistency_training(
        classifier,
        weak_augmentation=weak_augmentation,
        strong_augmentation=strong_augmentation,
        steps=steps,
        confidence_threshold=hyperparameters.confidence_threshold,
      ),
      hyperparameters,
      steps=steps,
      weak_augmentation=weak_augmentation,
    )
  )


def build_self_training_averaging(
  classifier: functional.ImageClassifier,
  hyperparameters: benchmark_hyperparameters.BenchmarkHyperparameters,
  *,
  weak_augmentation: augmentation.Augmentation,
) -> federated_process.FederatedProcess:
  """Builds the system in which users train by self-training (equation 3).

  Its schedule is that of the others; the authors' code had another, and fewer
  steps (D49).

  Args:
    classifier: As in `build_consistency_averaging`.
    hyperparameters: The numbers.
    weak_augmentation: For users and server.

  Raises:
    ValueError: If a group would have no slot.
  """
  steps = hyperparameters.create_steps(classifier)
  return group_averaging.compose_group_averaging_process(
    group_parts.build_group_parts(
      classifier,
      consistency_training.build_self_training(
        classifier,
        weak_augmentation=weak_augmentation,
        steps=steps,
        confidence_threshold=hyperparameters.confidence_threshold,
      ),
      hyperparameters,
      steps=steps,
      weak_augmentation=weak_augmentation,
    )
  )


def build_supervised_averaging(
  classifier: functional.ImageClassifier,
  hyperparameters: benchmark_hyperparameters.BenchmarkHyperparameters,
  *,
  weak_augmentation: augmentation.Augmentation,
) -> federated_process.FederatedProcess:
  """Builds supervised federated learning: users have labels (appendix G).

  Args:
    classifier: As in `build_consistency_averaging`.
    hyperparameters: The numbers; the threshold is of no use.
    weak_augmentation: For users and server.

  Returns:
    A process of which clients' data are of `pipelines.labelled_client_type`.

  Raises:
    ValueError: If a group would have no slot.
  """
  steps = hyperparameters.create_steps(classifier)
  return group_averaging.compose_group_averaging_process(
    group_parts.build_group_parts(
      classifier,
      labelled_steps.build_labelled_client_steps(
        classifier, weak_augmentation=weak_augmentation, steps=steps
      ),
      hyperparameters,
      steps=steps,
      weak_augmentation=weak_augmentation,
      client_data_type=pipelines.labelled_client_type(classifier.image_shape),
    )
  )
