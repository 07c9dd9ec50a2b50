# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The systems by name."""

from tff_semifl.algorithms import averaging_systems
from tff_semifl.algorithms import centralized_systems
from tff_semifl.algorithms import client_trainings
from tff_semifl.algorithms import fedmatch_systems
from tff_semifl.algorithms import fedsgd_systems
from tff_semifl.algorithms import zhang2020_systems

SYSTEMS = {
  'semifl': averaging_systems.Alternating(client=client_trainings.FixMix()),
  # The ablations of SemiFL's Table 2, and other rows of its tables.
  'batch_label_semifl': averaging_systems.Alternating(
    client=client_trainings.LabelEachBatch()
  ),
  'parallel_semifl': averaging_systems.Parallel(client=client_trainings.Fix()),
  'fedavg_fixmatch': averaging_systems.Parallel(
    client=client_trainings.LabelEachBatch()
  ),
  'fedrgd_as_in_semifl': averaging_systems.ParallelInTwoGroups(
    client=client_trainings.LabelEachBatch()
  ),
  'fedmatch_as_in_semifl': fedmatch_systems.FedMatchAsInSemiFL(),
  'fedsgd_fixmatch': fedsgd_systems.FedSGD(),
  'fedsgd_fixmatch_as_in_semifl': fedsgd_systems.FedSGDAsInSemiFL(),
  'supervised_fedavg': averaging_systems.Supervised(),
  'labels_alone': centralized_systems.LabelsAlone(),
  'all_labels': centralized_systems.AllLabels(),
  'fedmatch': fedmatch_systems.FedMatch(),
  # Zhang et al.
  'consistency_averaging': zhang2020_systems.ConsistencyAveraging(),
  'self_training_averaging': zhang2020_systems.SelfTrainingAveraging(),
  'supervised_averaging': zhang2020_systems.SupervisedAveraging(),
}
