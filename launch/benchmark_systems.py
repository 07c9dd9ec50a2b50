# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The systems of the benchmark of Zhang et al.: groups, and many short rounds.

References:
  Zhang, Yao, Yang, Yan, Gonzalez, Mahoney. Benchmarking semi-supervised
  federated learning. 2020.
"""

from absl import flags

from launch import aggregator_flags
from launch import augmentation_flags
from launch import benchmark_flags
from launch import data_flags
from launch import image_folder_flags
from launch import model_flags
from launch import program
from launch import run_flags
from launch import system
from launch import training_flags
from launch import worker_flags
from tff_semifl.algorithms import benchmark_hyperparameters
from tff_semifl.algorithms import group_averaging_systems
from tff_semifl.algorithms import hyperparameters as hyperparameters_lib
from tff_semifl.programs import slots

flags.disclaim_key_flags()

_FLAGS = (
  data_flags,
  image_folder_flags,
  augmentation_flags,
  model_flags,
  training_flags,
  benchmark_flags,
  aggregator_flags,
  run_flags,
  worker_flags,
)
# Nothing is clipped (D45), momentum is kept by slots (D47), groups are averaged
# in their own way, and statistics of batches are running ones (D48).
_UNUSED = (
  training_flags.CLIENT_EPOCHS,
  training_flags.SERVER_EPOCHS,
  training_flags.CLIENT_BATCH_SIZE,
  training_flags.SERVER_BATCH_SIZE,
  training_flags.CLIP_NORM,
  training_flags.GLOBAL_MOMENTUM,
  training_flags.KEEP_SERVER_MOMENTUM,
  training_flags.KEEP_CLIENT_MOMENTUM,
  training_flags.BATCH_NORM_STATISTICS,
  training_flags.REPRODUCE_FINAL_TEST,
  aggregator_flags.AGGREGATOR,
  aggregator_flags.CLIPPING_QUANTILE,
  aggregator_flags.NOISE_MULTIPLIER,
  aggregator_flags.CLIPPING_NORM,
  aggregator_flags.PRIVACY_DELTA,
  aggregator_flags.INSECURE_FIXED_PRIVACY_KEY,
  aggregator_flags.QUANTIZATION_BITS,
)
_DEFAULTS = {
  data_flags.NUM_CLIENTS.name: 10,
  data_flags.PARTITION.name: 'main_classes',
  model_flags.MODEL.name: 'post_activation_resnet',
  model_flags.NORMALIZATION.name: 'group',
  # 300 epochs of 64 rounds.
  training_flags.TOTAL_ROUNDS.name: 300 * 64,
  training_flags.LEARNING_RATE.name: 0.146,
  training_flags.WEIGHT_DECAY.name: 1e-4,
  run_flags.ROUNDS_PER_EVALUATION.name: 64,
}


def _create_hyperparameters(
  numbers: hyperparameters_lib.Hyperparameters,
) -> benchmark_hyperparameters.BenchmarkHyperparameters:
  """Returns the numbers that the flags have."""
  return benchmark_hyperparameters.BenchmarkHyperparameters(
    clients_per_round=training_flags.CLIENTS_PER_ROUND.value,
    num_groups=benchmark_flags.NUM_GROUPS.value,
    seed=numbers.seed,
    steps_per_round=benchmark_flags.STEPS_PER_ROUND.value,
    batch_size=benchmark_flags.BATCH_SIZE.value,
    confidence_threshold=training_flags.CONFIDENCE_THRESHOLD.value,
    learning_rate=training_flags.LEARNING_RATE.value,
    learning_rate_floor=benchmark_flags.LEARNING_RATE_FLOOR.value,
    warm_up_steps=benchmark_flags.WARM_UP_STEPS.value,
    schedule_steps=benchmark_flags.SCHEDULE_STEPS.value,
    schedule_half_turns=benchmark_flags.SCHEDULE_HALF_TURNS.value,
    momentum=training_flags.MOMENTUM.value,
    weight_decay=training_flags.WEIGHT_DECAY.value,
    max_update_norm_ratio=aggregator_flags.MAX_UPDATE_NORM_RATIO.value,
    return_given_labels=numbers.return_given_labels,
  )


def _build(build, *names: str) -> system.BuildProcessFn:
  """Returns a builder of a process of groups.

  Args:
    build: One of `group_averaging_systems`.
    *names: The augmentations of the task that it takes.
  """

  def build_process(classifier, numbers, task, aggregator):
    del aggregator  # Groups are averaged in their own way.
    with program.blame(benchmark_flags.NUM_GROUPS, ValueError):
      return build(
        classifier,
        _create_hyperparameters(numbers),
        **{name: getattr(task, name) for name in names},
      )

  return build_process


def _create_slots(process, folder, num_clients) -> slots.SlotMemories:
  del folder, num_clients  # Slots are held in main memory.
  return slots.SlotMemories(
    process.initialize_memory, training_flags.CLIENTS_PER_ROUND.value
  )


CONSISTENCY_AVERAGING = system.System(
  name='consistency_averaging',
  flag_modules=_FLAGS,
  unused_flags=_UNUSED,
  defaults=_DEFAULTS,
  build_process=_build(
    group_averaging_systems.build_consistency_averaging,
    'weak_augmentation',
    'strong_augmentation',
  ),
  measures_pseudo_labels=lambda: True,
  takes_dropout=True,
  least_steps_per_round=lambda _: benchmark_flags.STEPS_PER_ROUND.value,
  create_memories=_create_slots,
)
SELF_TRAINING_AVERAGING = system.System(
  name='self_training_averaging',
  flag_modules=_FLAGS,
  unused_flags=(*_UNUSED, augmentation_flags.STRONG_AUGMENTATION),
  defaults=_DEFAULTS,
  build_process=_build(
    group_averaging_systems.build_self_training_averaging, 'weak_augmentation'
  ),
  measures_pseudo_labels=lambda: True,
  takes_dropout=True,
  least_steps_per_round=lambda _: benchmark_flags.STEPS_PER_ROUND.value,
  create_memories=_create_slots,
)
SUPERVISED_AVERAGING = system.System(
  name='supervised_averaging',
  flag_modules=_FLAGS,
  unused_flags=(
    *_UNUSED,
    augmentation_flags.STRONG_AUGMENTATION,
    training_flags.CONFIDENCE_THRESHOLD,
  ),
  defaults=_DEFAULTS,
  build_process=_build(
    group_averaging_systems.build_supervised_averaging, 'weak_augmentation'
  ),
  clients_have_labels=True,
  takes_dropout=True,
  least_steps_per_round=lambda _: benchmark_flags.STEPS_PER_ROUND.value,
  create_memories=_create_slots,
)
