# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""All settings of an experiment: data, model, statistics and system."""

from collections.abc import Callable, Mapping
import dataclasses
from typing import Any

import tensorflow as tf

from tff_semifl import settings
from tff_semifl.algorithms import system as system_lib
from tff_semifl.algorithms import training_settings
from tff_semifl.data import data_errors
from tff_semifl.data import sources
from tff_semifl.experiment import chosen_models
from tff_semifl.experiment import federated_data
from tff_semifl.experiment import frozen_models
from tff_semifl.experiment import image_task
from tff_semifl.experiment import model_selection
from tff_semifl.experiment import models
from tff_semifl.experiment import statistics as statistics_lib
from tff_semifl.experiment import task_registry
from tff_semifl.privacy import means

# Settings that are recorded even if the task determines the values.
SIZES = ('num_labeled', 'num_clients')
# Ten clients then train as often as each of SemiFL's 100 in 800 rounds.
_ROUNDS_OF_GIVEN_CLIENTS = 80


@dataclasses.dataclass(frozen=True, kw_only=True)
class Seed(settings.Settings):
  """The run's seed."""

  seed: int = settings.setting(
    0, 'Seed of all random numbers.', settings.between(0, 2**31 - 1)
  )


def _load_model(reference: str) -> models.Model:
  if reference.startswith(frozen_models.PREFIX):
    return frozen_models.load(reference)
  return chosen_models.load_function(reference)


@dataclasses.dataclass(frozen=True, kw_only=True)
class ChosenModel(settings.Settings):
  """The choice of the model, and whether XLA compiles its training."""

  model: models.Model = settings.choice(
    chosen_models.MODELS | frozen_models.MODELS,
    'wide_resnet',
    "Model: wide_resnet, SemiFL's; linear, one layer, the default for"
    ' features; networks of the other papers; frozen:NAME, a linear layer on'
    ' features of a pretrained network (efficientnet_lite0, a network of Keras'
    ' Applications or a .keras file); or a function (task, seed) -> Keras'
    ' model from pixels to logits.',
    load=_load_model,
  )
  jit_compile: bool | None = settings.setting(
    None,
    'Compile training with XLA, once for each batch size and each number of'
    ' images, padded to a power of two. By default on a GPU, if possible. Not'
    ' for augmentations of KerasCV in local training.',
  )

  @property
  def compiles(self) -> bool:
    """Whether to compile training with XLA if possible."""
    if self.jit_compile is None:
      return bool(tf.config.list_physical_devices('GPU'))
    return self.jit_compile


@dataclasses.dataclass(frozen=True, kw_only=True)
class Data(settings.Settings):
  """Settings of the data: task, split, augmentations and seed."""

  chosen_task: task_registry.ChosenTask
  data_split: federated_data.DataSplit
  strong: image_task.StrongAugmentation | None
  weak: image_task.WeakAugmentation = image_task.WeakAugmentation()
  seed: Seed = Seed()

  @property
  def task(self) -> image_task.Task:
    return self.chosen_task.task

  @property
  def validates(self) -> bool:
    """Whether evaluations use validation images instead of test images."""
    return federated_data.has_validation(settings.as_dict(self))

  def fill_in(self, task: image_task.ImageTask) -> 'Data':
    """Fills in settings without a value from the defaults of the task.

    Tasks may set the number of labels, the image size and the strong
    augmentation. Raises a SettingError if the number of labels stays unknown.
    """
    filled = settings.fill_in(
      self,
      {
        'num_labeled': task.num_labeled,
        'strong_augmentation': None
        if task.images
        else self.task.strong_augmentation,
      },
    )
    if settings.as_dict(filled).get('num_labeled', 0) is None:
      raise settings.SettingError(
        'num_labeled',
        None,
        'say how many of the training images the server has labels of',
      )
    chosen_task = dataclasses.replace(
      filled.chosen_task, task=self.task.fill_in(task.outside)
    )
    return dataclasses.replace(filled, chosen_task=chosen_task)

  def create_task(
    self,
    create: Callable[[image_task.Task], image_task.ImageTask] | None = None,
  ) -> image_task.ImageTask:
    """Creates the task, by `create` if given, with the chosen augmentations."""
    task = self.task.create() if create is None else create(self.task)
    task = self.weak.apply(task)
    return task if self.strong is None else self.strong.apply(task)

  def load(self, task: image_task.ImageTask) -> federated_data.FederatedData:
    """Loads and splits a task's images; the settings must be filled in."""
    images = image_task.load(self.task, task)
    try:
      data = self.data_split.split(task, images, self.seed.seed)
    except settings.SettingError as error:
      if not isinstance(error.__cause__, data_errors.ClassError):
        raise
      raise settings.SettingError(
        error.name, error.value, error.__cause__.with_names(task.class_names)
      ) from error
    pool = "clients' images" if len(data.shares) else 'unlabeled images'
    equal = sources.describe_equal_images(
      images,
      {'labeled images': data.labeled, pool: data.unlabeled},
      data.test,
      'validation' if self.validates else 'test',
    )
    return data._replace(equal_images=tuple(equal))

  @property
  def title(self) -> str:
    """The title of a figure: the task, its data and the partition."""
    name = settings.name_of(self.chosen_task, 'task')
    clients = self.data_split.clients
    pieces = [name, self.task.place, clients and str(clients.partition)]
    return ', '.join(filter(None, pieces))


@dataclasses.dataclass(frozen=True, kw_only=True)
class ExperimentSettings(settings.Settings):
  """All settings of an experiment; records store `system_name` separately."""

  system_name: str
  data: Data
  model: ChosenModel
  system: system_lib.System
  statistics: statistics_lib.Statistics | None
  label_features: frozen_models.LabelFeatures | None = None
  selection: model_selection.ModelSelection = model_selection.ModelSelection()

  @property
  def seed(self) -> int:
    return self.data.seed.seed

  @property
  def validates(self) -> bool:
    """Whether evaluations use validation images instead of test images."""
    return self.data.validates

  def identify(self) -> dict[str, Any]:
    """The identities of system, task, model and other choices, for records.

    Identities and settings determine the experiment; see `settings.identify`.
    """
    values = {**settings.as_dict(self), 'system': self.system_name}
    identity = {}
    for name, part in (
      ('system', self.system),
      ('task', self.data.task),
      ('model', self.model.model),
      ('partition', self.data.data_split),
      ('strong_augmentation', self.data.strong),
      ('label_features', self.label_features),
    ):
      with settings.blame(name, values.get(name)):
        if part is not None:
          identity[name] = settings.identify(part)
    return identity

  @property
  def task_name(self) -> str:
    return settings.name_of(self.data.chosen_task, 'task')

  def create_model(self, task: image_task.ImageTask) -> tf.keras.Model:
    with settings.blame('model', settings.name_of(self.model, 'model')):
      return self.model.model.create(task, self.seed)

  @property
  def private_mean(self) -> means.PrivateMean | None:
    """The settings of differential privacy; None if not chosen."""
    aggregation = getattr(self.system, 'averaging', None)
    return aggregation and aggregation.private_mean

  @property
  def default_name(self) -> str:
    system = self.system
    pieces = [
      _short(self.system_name),
      'without_clients'
      if system.has_clients
      and not system.all_clients_take_part
      and system.clients_per_round == 0
      else '',
      _short(self.task_name),
      str(self.data.data_split),
      self.data.task.place,
      f'seed{self.seed}',
    ]
    return '_'.join(piece for piece in pieces if piece)


def create(
  system_name: str,
  system: system_lib.System,
  chosen_task: task_registry.ChosenTask,
  changes: Mapping[str, Any],
  *,
  lenient: bool = False,
) -> ExperimentSettings:
  """Creates the settings of an experiment.

  `changes` override the defaults of the system, its paper and the chosen parts;
  with `lenient`, names without a setting are ignored.
  """
  chosen_task = settings.change_present(chosen_task, changes)
  data_split = federated_data.choose_data_split(
    system.labels, is_given=chosen_task.task.gives_shares
  )
  if data_split is None:
    raise settings.SettingError(
      'task',
      settings.name_of(chosen_task, 'task'),
      'has clients of its own; labeled_clients_alone and semifl_labeled_clients'
      ' train on their labels',
    )
  has_statistics = system.chooses_statistics
  experiment = ExperimentSettings(
    system_name=system_name,
    data=Data(
      chosen_task=chosen_task,
      data_split=data_split,
      strong=image_task.StrongAugmentation()
      if system.uses_strong_views
      else None,
    ),
    model=ChosenModel(),
    system=system,
    statistics=statistics_lib.Statistics() if has_statistics else None,
    label_features=frozen_models.LabelFeatures()
    if system.labels_by_features
    else None,
  )
  # A paper's defaults may name settings that the chosen parts lack.
  usual = {**system.usual, **chosen_task.task.usual}
  changed = settings.change_present(experiment, {**usual, **changes})
  if of_model := changed.model.model.usual:
    changed = settings.change_present(
      experiment, {**usual, **of_model, **changes}
    )
  task, of_system = chosen_task.task, settings.as_dict(changed.system)
  settings.check_names(
    changed,
    dict.fromkeys(
      SIZES if task.gives_shares else (), settings.qualified_name(type(task))
    ),
  )
  if not lenient:
    settings.change(changed, changes)
  usual = dict(training_settings.SEMIFL)
  if task.gives_shares or changed.system.all_clients_take_part:
    # The cohort size is filled in after the images are known.
    del usual['clients_per_round']
  if task.gives_shares and 'client_epochs' in of_system:
    usual['total_rounds'] = _ROUNDS_OF_GIVEN_CLIENTS
  system = settings.fill_in(changed.system, usual)
  return dataclasses.replace(changed, system=system)


def _short(name: str) -> str:
  """The last part of a dotted name, for the name of a folder."""
  return name.rpartition(':')[2].rpartition('.')[2]
