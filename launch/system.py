# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""What a training program must know of the system that it trains."""

from collections.abc import Callable, Mapping, Sequence
import dataclasses
import types
from typing import Any

from absl import flags
import tensorflow_federated as tff

from launch import federated_data
from launch import program
from launch import training_flags
from tasks import image_task
from tff_semifl.algorithms import federated_process
from tff_semifl.algorithms import hyperparameters as hyperparameters_lib
from tff_semifl.models import functional
from tff_semifl.programs import memories
from tff_semifl.programs import outputs

# The flags that `adopt_flags` adopts are then its caller's, and not of here.
flags.disclaim_key_flags()

BuildProcessFn = Callable[
  [
    functional.ImageClassifier,
    hyperparameters_lib.Hyperparameters,
    image_task.ImageTask,
    tff.aggregators.AggregationFactory,
  ],
  federated_process.FederatedProcess,
]


def build_from_task(
  build: Callable[..., federated_process.FederatedProcess],
  keywords: Callable[[], Mapping[str, Any]] = dict,
) -> BuildProcessFn:
  """Returns what builds a process with the augmentations of a task.

  Args:
    build: One of the builders of `tff_semifl.algorithms` that take both
      augmentations and an aggregator.
    keywords: Returns its other arguments, when flags have been parsed.
  """

  def build_process(classifier, hyperparameters, task, aggregator):
    return build(
      classifier,
      hyperparameters,
      weak_augmentation=task.weak_augmentation,
      strong_augmentation=task.strong_augmentation,
      aggregator=aggregator,
      **keywords(),
    )

  return build_process


def _create_client_memories(
  process: federated_process.FederatedProcess,
  folder: outputs.ExperimentFolder,
  num_clients: int,
) -> memories.Memories | None:
  """Each client keeps its own memory, if the process has any."""
  del num_clients  # Only those that took part have one.
  if process.initialize_memory is None:
    return None
  return folder.client_memories(process.initialize_memory)


def _total_rounds() -> int:
  return training_flags.TOTAL_ROUNDS.value


@dataclasses.dataclass(frozen=True, kw_only=True)
class System:
  """A way to train.

  Attributes:
    name: The first part of the default name of an experiment; what trains it is
      `launch.train_<name>`.
    flag_modules: The modules that define its flags.
    unused_flags: Those of their flags that it has no use for.
    defaults: Values of flags, by name, that are not given, where its paper has
      others than SemiFL's.
    build_process: (classifier, numbers, task, aggregator) -> process.
    labels_by_global_model: Whether clients label images with the model that
      they receive, by its batch normalisation statistics.
    measures_pseudo_labels: Whether pseudo-labels are compared with the truth,
      where it is known.
    create_data: Shares out a task's images.
    models: Names of the models that it can train, or none if any will do.
    takes_dropout: Whether it can train models with dropout.
    clients_have_labels: Whether clients train on true labels.
    clients_know_turns: Whether clients know in how many rounds they took part.
    total_rounds: The last round.
    all_clients_take_part: Whether all clients do in each round but round 0.
    least_steps_per_round: (number of images of each client) -> steps of a
      round, at least, if epochs and batch sizes do not say.
    create_memories: (process, experiment's folder, number of clients) -> what
      keeps what is remembered of clients, or None if nothing is.
  """

  name: str
  flag_modules: tuple[types.ModuleType, ...]
  build_process: BuildProcessFn
  unused_flags: tuple[flags.FlagHolder, ...] = ()
  defaults: Mapping[str, object] = dataclasses.field(default_factory=dict)
  labels_by_global_model: bool = False
  measures_pseudo_labels: Callable[[], bool] = lambda: False
  create_data: federated_data.CreateDataFn = (
    federated_data.create_federated_data
  )
  models: tuple[str, ...] = ()
  takes_dropout: bool = False
  clients_have_labels: bool = False
  clients_know_turns: bool = False
  total_rounds: Callable[[], int] = _total_rounds
  all_clients_take_part: bool = False
  least_steps_per_round: Callable[[Sequence[int]], int] | None = None
  create_memories: Callable[
    [federated_process.FederatedProcess, outputs.ExperimentFolder, int],
    memories.Memories | None,
  ] = _create_client_memories

  def adopt_flags(self) -> None:
    """Makes the flags those of the calling program, for its --help."""
    for flag in self._flags():
      flags.declare_key_flag(flag.name)

  def set_defaults(self) -> None:
    """Sets the defaults; for a program, before it parses its flags."""
    for name, value in self.defaults.items():
      flags.FLAGS.set_default(name, value)

  @property
  def has_clients(self) -> bool:
    """Whether clients take part at all."""
    return self.all_clients_take_part or self.uses(
      training_flags.CLIENTS_PER_ROUND
    )

  def uses(self, flag: flags.FlagHolder) -> bool:
    """Returns whether it has a use for a flag."""
    return flag.name in {used.name for used in self._flags()}

  def flag_values(self) -> dict[str, object]:
    """Returns the value of each flag by name."""
    return {flag.name: flag.value for flag in self._flags()}

  def check_flags(self) -> None:
    """Checks that no flag was given that only other systems have a use for.

    Raises:
      program.FlagError: If one was.
    """
    used = {flag.name for flag in self._flags()}
    for module, defined in flags.FLAGS.flags_by_module_dict().items():
      for flag in defined:
        if module.startswith('launch.') and flag.present:
          if flag.name not in used:
            raise program.FlagError(
              f'flag --{flag.name}: launch.train_{self.name} has no use for it;'
              ' leave it out'
            )

  def _flags(self) -> list[flags.Flag]:
    by_module = flags.FLAGS.flags_by_module_dict()
    unused = {flag.name for flag in self.unused_flags}
    return [
      flag
      for module in self.flag_modules
      for flag in by_module[module.__name__]
      if flag.name not in unused
    ]
