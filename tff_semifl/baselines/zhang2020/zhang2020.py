# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The systems of Zhang et al.: groups of clients, and many short rounds.

    each round, for each group of clients:
      the server trains a replica of the mean model for T steps on its labels
      each client trains its group's model for T steps by consistency
      group's model = mean(its clients' models, the replica)
    mean model = mean of the groups' models

References:
  Zhang, Yao, Yang, Yan, Gonzalez, Mahoney. Benchmarking semi-supervised
  federated learning. 2020. Defaults are for CIFAR-10 (Table A.1); presets have
  the settings for SVHN and EMNIST.
"""

import abc
from collections.abc import Sequence
import dataclasses
import functools
import math
import pathlib
import types

import tensorflow as tf
import tensorflow_federated as tff

from tff_semifl import settings
from tff_semifl.algorithms import system
from tff_semifl.algorithms import training_settings
from tff_semifl.baselines.zhang2020 import group_averaging
from tff_semifl.baselines.zhang2020 import local_steps
from tff_semifl.baselines.zhang2020 import running_statistics
from tff_semifl.core import client_work
from tff_semifl.core import composition
from tff_semifl.core import federated_process
from tff_semifl.data import pipelines
from tff_semifl.models import functional
from tff_semifl.privacy import aggregators
from tff_semifl.randomness import random_seeds

# Steps of an epoch as the paper counts: 65,536 images in batches of 64, for all
# data sets.
_STEPS_PER_EPOCH = 1024


@dataclasses.dataclass(frozen=True, kw_only=True)
class WarmUpAndCosine(training_settings.Rounds):
  """A learning rate that rises linearly, then decays as a cosine (eq. 10)."""

  # The schedule's length does not depend on the number of rounds.
  of_any_number = True

  learning_rate_floor: float = settings.setting(
    1e-4,
    'Least learning rate after the warm-up, as a fraction of the maximum.',
    settings.FRACTION,
  )
  warm_up_steps: int = settings.setting(
    5 * _STEPS_PER_EPOCH,
    'Steps in which the learning rate rises to its maximum; 1024 steps are an'
    ' epoch of Zhang et al., whatever the number of images.',
    settings.AT_LEAST_0,
  )
  schedule_steps: int = settings.setting(
    200 * _STEPS_PER_EPOCH,
    'Step, counted with the warm-up, at which the cosine of the learning rate'
    ' has turned by --schedule_half_turns.',
    settings.AT_LEAST_1,
  )
  schedule_half_turns: float = settings.setting(
    7 / 16,
    'Half turns of the cosine of the learning rate, c in equation 10 of Zhang'
    " et al.; FixMatch and the authors' code have 7/16.",
    settings.AT_LEAST_0,
  )

  def __post_init__(self) -> None:
    super().__post_init__()
    if self.warm_up_steps >= self.schedule_steps:
      raise self.error(
        'warm_up_steps',
        f'must be less than schedule_steps, {self.schedule_steps}',
      )

  def learning_rate_of(self, step: tf.Tensor | int) -> tf.Tensor:
    """Linear warm-up, then part of a cosine (equation 10 of Zhang et al.).

    With w = `warm_up_steps` and n = `schedule_steps`, the learning rate of step
    t = 0, 1, ... is `learning_rate` times

        t / w                                                  if t < w
        max(cos(pi * half turns * (t - w) / (n - w)), floor)   else

    For CIFAR-10 the authors' code has 7/16 half turns in 200 epochs of 1,024
    steps. The paper's 2.3 half turns in 300 epochs would reach the floor in the
    first quarter, and later return to the maximum.
    """
    step, first = tf.cast(step, tf.float32), self.warm_up_steps
    share = (step - first) / (self.schedule_steps - first)
    cosine = tf.maximum(
      tf.cos(math.pi * self.schedule_half_turns * share),
      self.learning_rate_floor,
    )
    return self.learning_rate * tf.where(
      step < first, step / max(first, 1), cosine
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class ManyShortRounds(system.System):
  """Base class of systems in which all nodes take the same number of steps."""

  usual = types.MappingProxyType(
    {
      'num_clients': 10,
      'partition': 'main_classes',
      'model': 'post_activation_resnet',
      'normalization': 'group',
      'rounds_per_evaluation': 64,
    }
  )

  cohorts: training_settings.Cohorts = training_settings.Cohorts()
  schedule: WarmUpAndCosine = WarmUpAndCosine(
    # 300 epochs of 64 rounds.
    total_rounds=300 * 64,
    learning_rate=0.146,
  )
  steps_per_round: int = settings.setting(
    16,
    'Steps of server and clients between two averages, T.',
    settings.AT_LEAST_1,
  )
  batch_size: int = settings.setting(
    64, 'Images in a step of server or client, B.', settings.AT_LEAST_1
  )
  # No clipping, as in the authors' code; each slot has its own momentum.
  optimizer: training_settings.Nesterov = training_settings.Nesterov(
    weight_decay=1e-4
  )
  rejection: aggregators.Rejection = aggregators.Rejection()

  def create_steps(
    self,
    classifier: functional.ImageClassifier,
    optimizer: tff.learning.optimizers.Optimizer,
  ) -> local_steps.LocalSteps:
    return local_steps.LocalSteps(
      classifier=classifier,
      num_steps=self.steps_per_round,
      batch_size=self.batch_size,
      optimizer=optimizer,
      learning_rate_fn=self.schedule.learning_rate_of,
    )

  def count_steps(
    self, num_labeled: int, client_sizes: Sequence[int]
  ) -> system.Steps:
    del client_sizes
    return system.Steps(
      self.steps_per_round if num_labeled else 0, self.steps_per_round
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class _GroupAveraging(ManyShortRounds):
  """Base class of Zhang et al.'s systems, which average models in groups."""

  # Batch normalization statistics are running averages.
  chooses_statistics = False

  num_groups: int = settings.setting(
    1,
    'Groups of clients that are averaged separately (S); 1 is federated'
    ' averaging with the server as a member (equations 5 and 6 of Zhang et'
    ' al.).',
    settings.AT_LEAST_1,
  )

  def build(self, ingredients: system.Ingredients) -> system.Process:
    classifier = ingredients.classifier
    # With static batch normalization, each node has running averages.
    steps = self.create_steps(
      classifier, running_statistics.track(self.optimizer.build(), classifier)
    )
    work = client_work.build_client_work(
      classifier,
      self.build_local_training(ingredients, steps),
      data_type=pipelines.labeled_client_type(classifier.image_shape)
      if self.clients_have_labels
      else None,
      optimizer=steps.optimizer,
      kept=client_work.Kept(optimizer_state=True),
      max_update_norm_ratio=self.rejection.max_update_norm_ratio,
      return_given_labels=ingredients.returns_given_labels,
    )
    return composition.build(
      composition.Parts(
        classifier=classifier,
        seed=ingredients.seed,
        learning_rate_fn=steps.last_learning_rate,
        client_work=dataclasses.replace(
          work,
          initialize_memory=lambda: group_averaging.SlotMemory(
            slot=tf.constant(0), client=work.initialize_memory()
          ),
        ),
        server_work=group_averaging.build_replicated_server_work(
          steps, ingredients.weak_augmentation, self.num_groups
        ),
        aggregator=group_averaging.Groups(classifier, self.num_groups),
      ),
      group_averaging.group_round,
      num_groups=self.num_groups,
      group_size=group_averaging.slots_per_group(
        self.cohorts.filled_size, self.num_groups
      ),
    )

  @abc.abstractmethod
  def build_local_training(
    self, ingredients: system.Ingredients, steps: local_steps.LocalSteps
  ) -> client_work.LocalTrainingFn:
    """Builds the local training of a client."""

  def create_memories(
    self,
    process: federated_process.FederatedProcess,
    folder: pathlib.Path,
    *,
    num_clients: int,
    num_kept: int,
  ) -> group_averaging.SlotMemories:
    del folder, num_clients, num_kept
    return group_averaging.SlotMemories(
      process.initialize_memory, self.cohorts.filled_size
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class ConsistencyAveraging(_GroupAveraging):
  """The system of Zhang et al. whose clients train by consistency (eq. 4)."""

  measures_pseudo_labels = True
  confidence: training_settings.Confidence = training_settings.Confidence()

  def build_local_training(
    self, ingredients: system.Ingredients, steps: local_steps.LocalSteps
  ) -> client_work.LocalTrainingFn:
    purpose = random_seeds.Purpose

    def views(images, node):
      return (
        ingredients.weak_augmentation(images, node.seed(purpose.WEAK_VIEW)),
        ingredients.strong_augmentation(images, node.seed(purpose.STRONG_VIEW)),
      )

    def logits(model, batch):
      # One forward pass, which normalizes both augmentations together.
      return tf.split(model.train_logits(tf.concat(batch, axis=0)), 2)

    return functools.partial(
      local_steps.train_on_pseudo_labels,
      steps,
      views,
      logits,
      self.confidence.confidence_threshold,
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class SelfTrainingAveraging(_GroupAveraging):
  """The system of Zhang et al. whose clients train by self-training (eq. 3)."""

  uses_strong_views = False
  measures_pseudo_labels = True
  confidence: training_settings.Confidence = training_settings.Confidence()

  def build_local_training(
    self, ingredients: system.Ingredients, steps: local_steps.LocalSteps
  ) -> client_work.LocalTrainingFn:
    weak = random_seeds.Purpose.WEAK_VIEW
    return functools.partial(
      local_steps.train_on_pseudo_labels,
      steps,
      lambda images, node: ingredients.weak_augmentation(
        images, node.seed(weak)
      ),
      # Pseudo-labels are predictions in inference mode for the same images.
      lambda model, batch: (model.logits(batch), model.train_logits(batch)),
      self.confidence.confidence_threshold,
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class SupervisedAveraging(_GroupAveraging):
  """The system of Zhang et al. whose clients have labels (appendix G)."""

  labels = system.Labels.AT_SERVER_AND_CLIENTS
  uses_strong_views = False

  def build_local_training(
    self, ingredients: system.Ingredients, steps: local_steps.LocalSteps
  ) -> client_work.LocalTrainingFn:
    return functools.partial(
      local_steps.train_labeled_client, steps, ingredients.weak_augmentation
    )
