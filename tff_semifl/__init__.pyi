# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The public names of the package, each with the module that has it.

Type checkers and editors read this file, and so does `__init__.py`, which
imports a module when one of its names is first used.
"""

from tff_semifl.algorithms.averaging import Alternating as Alternating
from tff_semifl.algorithms.averaging import (
  AlternatingLabeledClients as AlternatingLabeledClients,
)
from tff_semifl.algorithms.averaging import LabeledClients as LabeledClients
from tff_semifl.algorithms.averaging import Parallel as Parallel
from tff_semifl.algorithms.client_prior_semifl import (
  ClientPriorFixMix as ClientPriorFixMix,
)
from tff_semifl.algorithms.fix_mix import Fix as Fix
from tff_semifl.algorithms.fix_mix import FixMix as FixMix
from tff_semifl.algorithms.fix_mix import LabelEachBatch as LabelEachBatch
from tff_semifl.algorithms.flfl import (
  ClassAdaptiveThresholds as ClassAdaptiveThresholds,
)
from tff_semifl.algorithms.flfl import (
  DistributionAlignment as DistributionAlignment,
)
from tff_semifl.algorithms.flfl import LearningStatus as LearningStatus
from tff_semifl.algorithms.flfl import (
  SharpnessAwareConsistency as SharpnessAwareConsistency,
)
from tff_semifl.algorithms.from_sums import FromSums as FromSums
from tff_semifl.algorithms.supervised_fedavg import Supervised as Supervised
from tff_semifl.algorithms.supervised_fedavg import (
  TrainOnLabels as TrainOnLabels,
)
from tff_semifl.algorithms.system import Ingredients as Ingredients
from tff_semifl.augment.augmentation import flip_and_crop as flip_and_crop
from tff_semifl.augment.fixmatch_policy import (
  build_fixmatch_rand_augment as build_fixmatch_rand_augment,
)
from tff_semifl.augment.keras_cv_policy import (
  build_gentle_rand_augment as build_gentle_rand_augment,
)
from tff_semifl.augment.semifl_policy import (
  build_semifl_rand_augment as build_semifl_rand_augment,
)
from tff_semifl.baselines.one_place.pooled import Pooled as Pooled
from tff_semifl.baselines.one_place.pooled_method import (
  PooledMethod as PooledMethod,
)
from tff_semifl.baselines.one_place.pooled_method import (
  PooledStep as PooledStep,
)
from tff_semifl.baselines.one_place.pooled_method import (
  PooledStepOutput as PooledStepOutput,
)
from tff_semifl.core.hook_arguments import ClientContext as ClientContext
from tff_semifl.core.hook_arguments import Server as Server
from tff_semifl.core.hook_arguments import Step as Step
from tff_semifl.core.learning_process import (
  bind_server_data as bind_server_data,
)
from tff_semifl.core.method import Method as Method
from tff_semifl.core.pseudo_labels import PseudoLabels as PseudoLabels
from tff_semifl.data.assisted_labeling import check_labels as check_labels
from tff_semifl.data.assisted_labeling import choose_images as choose_images
from tff_semifl.data.partition import partition_iid as partition_iid
from tff_semifl.data.partition import split_labels as split_labels
from tff_semifl.data.skewed_partition import (
  partition_classes as partition_classes,
)
from tff_semifl.data.skewed_partition import (
  partition_dirichlet as partition_dirichlet,
)
from tff_semifl.data.sources import LabeledImages as LabeledImages
from tff_semifl.data.sources import TaskData as TaskData
from tff_semifl.experiment.experiment_folder import open_folder as open_folder
from tff_semifl.experiment.image_task import ImageTask as ImageTask
from tff_semifl.experiment.image_task import Task as Task
from tff_semifl.experiment.image_task import (
  weak_then_strong as weak_then_strong,
)
from tff_semifl.experiment.own_data import own_data as own_data
from tff_semifl.experiment.python_experiment import (
  create_experiment as create_experiment,
)
from tff_semifl.experiment.running import run as run
from tff_semifl.experiment.system_registry import SYSTEMS as SYSTEMS
from tff_semifl.experiment.task_registry import TASKS as TASKS
from tff_semifl.export.saved_model import (
  export_saved_model as export_saved_model,
)
from tff_semifl.label_shift.share_prior import SharePrior as SharePrior
from tff_semifl.label_shift.share_prior import adapt_logits as adapt_logits
from tff_semifl.label_shift.share_prior import (
  estimate_site_shares as estimate_site_shares,
)
from tff_semifl.label_shift.share_prior import (
  find_share_prior as find_share_prior,
)
from tff_semifl.models.features import require_features as require_features
from tff_semifl.models.functional import ImageClassifier as ImageClassifier
from tff_semifl.models.functional import from_keras as from_keras
from tff_semifl.models.static_batch_norm import (
  StaticBatchNormalization as StaticBatchNormalization,
)
from tff_semifl.models.wide_resnet import (
  create_wide_resnet as create_wide_resnet,
)
from tff_semifl.runtime import AsyncContext as AsyncContext
from tff_semifl.runtime import InProcessContext as InProcessContext
from tff_semifl.runtime import simulation_context as simulation_context
from tff_semifl.settings import setting as setting

__version__: str
