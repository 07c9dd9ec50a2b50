# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""All settings of an experiment: data, model, statistics and system."""

from collections.abc import Mapping
import dataclasses
from typing import Any

from tff_semifl import settings
from tff_semifl.experiments import federated_data
from tff_semifl.experiments import function_models
from tff_semifl.experiments import image_task
from tff_semifl.experiments import keras_applications
from tff_semifl.experiments import models
from tff_semifl.experiments import statistics as statistics_lib
from tff_semifl.experiments import strong_views
from tff_semifl.systems import aggregations
from tff_semifl.systems import system as system_lib
from tff_semifl.systems import training_settings

# The authors' rule at the time of the paper (D4).
_FEW_LABELS = 250
_SMALL_BATCH, _LARGE_BATCH = 10, 250
# What the settings `clients_per_round` and `total_rounds` say of given shares.
_SEMIFL_CLIENTS_PER_ROUND = training_settings.Cohorts().clients_per_round
_SEMIFL_ROUNDS = training_settings.Rounds().total_rounds
_ROUNDS_WITH_GIVEN_SHARES = 80


@dataclasses.dataclass(frozen=True, kw_only=True)
class Seed(settings.Settings):
  """The run's seed."""

  seed: int = settings.setting(
    0, 'All random numbers follow from it.', settings.between(0, 2**31 - 1)
  )


@dataclasses.dataclass(frozen=True, kw_only=True)
class ChosenModel(settings.Settings):
  """The model, and the precision and compilation of its training."""

  model: models.Model = settings.choice(
    models.MODELS | keras_applications.MODELS,
    'wide_resnet',
    "Which model: wide_resnet, SemiFL's; resnet, the ResNet-9 or -18 of its"
    " authors' code; post_activation_resnet, the ResNet-18 of Zhang et al.;"
    ' emnist_cnn and reddi_emnist_cnn, their small networks (D22);'
    ' decomposed_wide_resnet, with kernels of two parts (B.5);'
    " fedmatch_resnet, FedMatch's own ResNet-9; mobilenet, mobilenet_v2,"
    ' efficientnet_v2 and resnet50_v2 of keras.applications, pretrained or not;'
    ' or a function (task, seed) -> Keras model from pixels to logits.',
    load=function_models.load_outside_model,
  )
  train_in_bfloat16: bool = settings.setting(
    False,
    'Train in bfloat16, but for normalizations: half the memory, and faster on'
    ' newer GPUs. Weights, pseudo-labels and evaluation stay float32.',
  )
  jit_compile: bool = settings.setting(
    False,
    'Have XLA compile the training passes of the model, once for each size of a'
    ' batch. Not for --runtime=native, whose worker has no XLA.',
  )


@dataclasses.dataclass(frozen=True, kw_only=True)
class Data(settings.Settings):
  """The task, and the images of server and clients."""

  chosen_task: image_task.ChosenTask
  sharing: federated_data.Sharing
  strong_views: strong_views.StrongViews | None
  seed: Seed = Seed()

  @property
  def task(self) -> image_task.Task:
    """The task."""
    return self.chosen_task.task

  def fill_in(self, task: image_task.ImageTask) -> 'Data':
    """Returns it with what the task has where nothing is chosen.

    That is the number of labels, and for some tasks the size of the images and
    the name of the strong views.

    Args:
      task: The task that it has.
    """
    defaults = {
      'num_labeled': task.num_labeled,
      'strong_augmentation': self.task.strong_augmentation,
    }
    missing = {
      name for name, value in settings.as_dict(self).items() if value is None
    }
    filled = settings.change(
      self, {name: defaults[name] for name in defaults.keys() & missing}
    )
    chosen_task = dataclasses.replace(
      filled.chosen_task, task=self.task.fill_in(task)
    )
    return dataclasses.replace(filled, chosen_task=chosen_task)

  @property
  def title(self) -> str:
    """Says which task it is and how its images are shared out."""
    how = self.sharing.description
    if self.task.gives_shares:
      how = self.task.shares_description
    return f'{settings.name_of(self.chosen_task, "task")}, {how}'


@dataclasses.dataclass(frozen=True, kw_only=True)
class ExperimentSettings(settings.Settings):
  """All settings of an experiment.

  Attributes:
    system_name: Name of the system, as it is chosen and recorded by.
    data: Settings of data.
    model: Settings of the model.
    statistics: Settings of statistics; None where there is no choice.
    final_test: Settings of the authors' final test, likewise.
    system: Settings of the system.
  """

  system_name: str
  data: Data
  model: ChosenModel
  system: system_lib.System
  statistics: statistics_lib.Statistics | None
  final_test: statistics_lib.FinalTest | None

  @property
  def seed(self) -> int:
    """The run's seed."""
    return self.data.seed.seed

  @property
  def task_name(self) -> str:
    """Name of the task."""
    return settings.name_of(self.data.chosen_task, 'task')

  @property
  def private_mean(self) -> aggregations.PrivateMean | None:
    """The settings of differential privacy, if it is asked for."""
    aggregation = self.system.aggregation
    return aggregation and aggregation.private_mean

  @property
  def server_batch_size(self) -> int | None:
    """Images in a step of the server, if the system has such a setting."""
    return settings.as_dict(self.system).get('server_batch_size')

  @property
  def default_name(self) -> str:
    """Name of an experiment that was not given one."""
    system = self.system
    suffix = ''
    if system.has_clients and not system.all_clients_take_part:
      suffix = '_without_clients' if system.clients_per_round == 0 else ''
    pieces = [
      _short(self.system_name) + suffix,
      _short(self.task_name),
      str(self.data.sharing),
      self.data.task.place,
      f'seed{self.seed}',
    ]
    return '_'.join(piece for piece in pieces if piece)


def create(
  system_name: str,
  system: system_lib.System,
  chosen_task: image_task.ChosenTask,
  changes: Mapping[str, Any],
  *,
  lenient: bool = False,
) -> ExperimentSettings:
  """Creates the settings of an experiment.

  Args:
    system_name: What to call the system.
    system: The system.
    chosen_task: The task, or a choice of tasks.
    changes: Values of settings by name, where they are not the defaults of the
      system, its paper and the parts that are chosen.
    lenient: Whether to leave out changes of settings that are not there.

  Raises:
    settings.SettingError: If a setting does not take its value, or is not
      there; or if the system cannot learn the task.
  """
  names = {'task'} & changes.keys()
  chosen_task = settings.change_present(
    chosen_task, {name: changes[name] for name in names}
  )
  sharing = federated_data.choose_sharing(
    system.labels, is_given=chosen_task.task.gives_shares
  )
  if sharing is None:
    raise settings.SettingError(
      'task',
      settings.name_of(chosen_task, 'task'),
      'its clients have no labels to train on',
    )
  has_statistics = system.chooses_statistics
  experiment = ExperimentSettings(
    system_name=system_name,
    data=Data(
      chosen_task=chosen_task,
      sharing=sharing,
      strong_views=strong_views.StrongViews()
      if system.uses_strong_views
      else None,
    ),
    model=ChosenModel(),
    system=system,
    statistics=statistics_lib.Statistics() if has_statistics else None,
    final_test=statistics_lib.FinalTest()
    if has_statistics and system.has_clients
    else None,
  )
  # What is usual in its paper may have no place beside what is chosen.
  usual = {**_usual_with(chosen_task.task, system), **system.usual}
  changed = settings.change_present(experiment, {**usual, **changes})
  if not lenient:
    settings.change(changed, changes)
  return changed


def _usual_with(
  task: image_task.Task, system: system_lib.System
) -> dict[str, Any]:
  """Returns what suits given clients in place of SemiFL's defaults.

  Values that the system has of its own stay as they are.
  """
  if not task.gives_shares:
    return {}
  values = settings.as_dict(system)
  usual = {}
  if values.get('clients_per_round') == _SEMIFL_CLIENTS_PER_ROUND:
    usual['clients_per_round'] = None
  if 'client_epochs' in values and values['total_rounds'] == _SEMIFL_ROUNDS:
    usual['total_rounds'] = _ROUNDS_WITH_GIVEN_SHARES
  return usual


def fill_in(
  experiment: ExperimentSettings, task: image_task.ImageTask
) -> ExperimentSettings:
  """Returns settings with all defaults filled in that depend on others.

  Args:
    experiment: The settings.
    task: The task that they have.

  Raises:
    settings.SettingError: If settings contradict each other.
  """
  _check_model(experiment)
  _check_privacy(experiment)
  data = experiment.data.fill_in(task)
  system = experiment.system
  if system.clients_per_round is None:
    system = settings.change(
      system, {'clients_per_round': _count_clients_per_round(data.task, task)}
    )
  if settings.as_dict(system).get('server_batch_size', 0) is None:
    is_small = (
      system.labels is not system_lib.Labels.ALL_AT_SERVER
      and settings.as_dict(data).get('num_labeled', task.num_labeled)
      <= _FEW_LABELS
    )
    system = settings.change(
      system,
      {'server_batch_size': _SMALL_BATCH if is_small else _LARGE_BATCH},
    )
  model = experiment.model.model.fill_in(task)
  are_there = model.has_static_batch_norm(task)
  statistics, final_test = experiment.statistics, experiment.final_test
  if statistics is not None:
    statistics = statistics.fill_in(experiment.system, are_there=are_there)
  if final_test is not None:
    final_test.check(are_there=are_there)
  filled = dataclasses.replace(
    experiment,
    data=data,
    system=system,
    model=dataclasses.replace(experiment.model, model=model),
    statistics=statistics,
  )
  if experiment.private_mean is not None and statistics is not None:
    kind = statistics.batch_norm_statistics
    if kind in ('federated', 'pooled'):
      raise settings.SettingError(
        'batch_norm_statistics',
        kind,
        'tells of the images of clients without the noise of'
        ' aggregator=differential_privacy; use server, or normalization=group',
      )
  return filled


def _count_clients_per_round(
  part: image_task.Task, task: image_task.ImageTask
) -> int:
  shares = image_task.load(part, task).shares
  if shares is None:
    raise settings.SettingError(
      'clients_per_round',
      None,
      'the task does not say which client has which images; give a number',
    )
  return min(len(shares), _SEMIFL_CLIENTS_PER_ROUND)


def _check_model(experiment: ExperimentSettings) -> None:
  name = settings.name_of(experiment.model, 'model')
  system = experiment.system
  if system.models and name not in system.models:
    raise settings.SettingError(
      'model',
      name,
      f'{experiment.system_name} trains {" or ".join(system.models)}',
    )
  if experiment.model.model.has_dropout and not system.takes_dropout:
    raise settings.SettingError(
      'model',
      name,
      f'{experiment.system_name} gives dropout no random numbers; choose a'
      ' model without',
    )


def _check_privacy(experiment: ExperimentSettings) -> None:
  private_mean = experiment.private_mean
  if private_mean is None:
    return
  if private_mean.noise_multiplier is None:
    raise settings.SettingError(
      'aggregator', 'differential_privacy', 'needs noise_multiplier, 1 say'
    )
  if experiment.system.reports_beside_updates:
    raise settings.SettingError(
      'aggregator',
      'differential_privacy',
      f'clients of {experiment.system_name} report, beside updates, what no'
      ' noise is added to; choose another',
    )
  if experiment.system.weighs_clients:
    raise settings.SettingError(
      'aggregator',
      'differential_privacy',
      f'clients of {experiment.system_name} differ in weight, and with noise'
      ' all weigh the same; choose another',
    )
  if settings.as_dict(experiment.system).get('keep_client_momentum'):
    raise settings.SettingError(
      'aggregator',
      'differential_privacy',
      'with keep_client_momentum what a client sends depends on the rounds that'
      ' it took part in before, which are secret, and epsilon is not computed'
      ' for that; leave keep_client_momentum out',
    )


def _short(name: str) -> str:
  """Returns a name that a folder can have."""
  return name.rpartition(':')[2]
