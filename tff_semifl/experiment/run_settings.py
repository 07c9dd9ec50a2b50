# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Settings of a run that do not affect the trained model.

These settings may change when a run is resumed.
"""

from collections.abc import Mapping, Sequence
import dataclasses
import pathlib
from typing import Any

import tensorflow_federated as tff

from tff_semifl import settings
from tff_semifl.experiment import experiment_settings
from tff_semifl.experiment import hparams_file
from tff_semifl.experiment import metrics_table
from tff_semifl.experiment import runtimes
from tff_semifl.metrics import metric
from tff_semifl.settings import references


@dataclasses.dataclass(frozen=True, kw_only=True)
class RunSettings(settings.Settings):
  """Settings of evaluations and results of a run."""

  output_dir: str = settings.setting(
    'results', 'Folder for the folders of all experiments.'
  )
  experiment_name: str | None = settings.setting(
    None,
    "Name of the experiment's folder. By default made of system, task, labels,"
    ' partition and seed. A run resumes if the folder has the same experiment;'
    ' another experiment is an error.',
    settings.FOLDER_NAME,
  )
  rounds_per_evaluation: int = settings.setting(
    1,
    'Rounds from one evaluation to the next; the last round is also evaluated.'
    ' Each evaluation writes a row and saves the state: an interruption loses'
    ' only the rounds since then.',
    settings.AT_LEAST_1,
  )
  metrics: tuple[str, ...] = settings.setting(
    (),
    'Comma-separated additional metrics, columns of metrics.csv:'
    ' balanced_accuracy, macro_f1, recall and precision of each class, auc,'
    ' ece, nll, brier, top_K, or package.module:NAME, a function of labels and'
    ' logits.',
    settings.Values(
      'names or functions', settings.ANY.contains, (), metric.load
    ),
  )
  client_accuracy: bool | None = settings.setting(
    None,
    "Whether to measure the exported model on each client's images, whose"
    ' labels are only for this: the table client_accuracy.csv, and a line on'
    ' the spread and the worst tenth. By default with --client_test_fraction.',
  )
  share_prior: bool | None = settings.setting(
    None,
    "Whether one pass over clients' images after training estimates a prior"
    ' with which the exported model adapts to the class shares of a site.'
    ' client_priors has the prior already; then the pass only describes the'
    " clients' images. By default for systems with clients and with labels at"
    ' the server, but not with differential privacy, which does not cover the'
    ' pass, nor with --sites, which would send additional sums.',
  )
  tensorboard: bool = settings.setting(
    True,
    "Whether to also write metrics for TensorBoard, in the experiment's folder"
    ' logdir.',
  )
  release_managers: tuple[str, ...] = settings.setting(
    (),
    'Comma-separated release managers of metrics: package.module:NAME of a'
    " tff.program.ReleaseManager, or a function from the experiment's folder"
    ' and settings to one, such as examples.mlflow_release:create.',
  )

  def fill_in(
    self, experiment: experiment_settings.ExperimentSettings
  ) -> 'RunSettings':
    """Fills in the name and the measurements, given filled-in settings."""
    settings.check_names(experiment, _OWNERS)
    for name in self.release_managers:
      _load_manager(name)
    values = settings.as_dict(experiment.system)
    if values.get('keep_client_momentum') and self.rounds_per_evaluation > 1:
      raise settings.SettingError(
        'rounds_per_evaluation',
        self.rounds_per_evaluation,
        "clients' momentum is kept for each round; leave this out, or"
        ' keep_client_momentum',
      )
    fraction = settings.as_dict(experiment).get('client_test_fraction')
    if fraction and experiment.data.task.sites:
      raise settings.SettingError(
        'client_test_fraction',
        fraction,
        'sites keep their images; test at a site, by launch.evaluate',
      )
    client_accuracy = self.client_accuracy
    return dataclasses.replace(
      self,
      client_accuracy=bool(fraction)
      if client_accuracy is None
      else client_accuracy,
      share_prior=self._choose_share_prior(experiment),
      experiment_name=self.experiment_name or experiment.default_name,
    )

  def _choose_share_prior(
    self, experiment: experiment_settings.ExperimentSettings
  ) -> bool:
    system = experiment.system
    reason = None
    if not (system.labels.has_clients and system.server_has_labels):
      reason = 'needs clients, and labels at the server'
    elif experiment.private_mean is not None:
      reason = 'differential privacy does not cover what this would tell'
    if self.share_prior is None:
      return reason is None and not experiment.data.task.sites
    if self.share_prior and reason is not None:
      raise settings.SettingError('share_prior', True, reason)
    return self.share_prior

  def identify(self, keep_best: str | None) -> dict[str, Any]:
    """Name and code digest of each user-defined metric, to notice changes."""
    found = {}
    for name in (*self.metrics, (keep_best or '').partition('/')[2]):
      if ':' in name:
        with settings.blame('metrics', name):
          found[name] = settings.identify(references.load(name))
    return {hparams_file.METRICS: found}

  @property
  def path(self) -> pathlib.Path:
    """The folder of the experiment, once its name is filled in."""
    return pathlib.Path(self.output_dir) / self.experiment_name


# The classes of settings that affect the run of an experiment, not its results.
_OWNERS = settings.all_owners(RunSettings()) | settings.all_owners(
  runtimes.ChosenRuntime()
)
UNIMPORTANT = frozenset(_OWNERS)


_RELEASE_MANAGERS = 'release_managers'


def _load_manager(name: str) -> Any:
  with settings.blame(_RELEASE_MANAGERS, name):
    found = references.load(name)
    if not (isinstance(found, tff.program.ReleaseManager) or callable(found)):
      raise ValueError(
        f'is a {type(found).__name__}; must be a tff.program.ReleaseManager, or'
        ' a function that returns one'
      )
  return found


def create_managers(
  names: Sequence[str], path: pathlib.Path, recorded: Mapping[str, Any]
) -> list['NamedManager']:
  """Creates the release managers of an experiment, whose folder exists.

  `recorded` has the settings by name, and `system`, the name of the system.
  """
  managers = []
  for name in names:
    manager = _load_manager(name)
    with settings.blame(_RELEASE_MANAGERS, name, ValueError, ImportError):
      if callable(manager):
        manager = manager(path, recorded)
      if not isinstance(manager, tff.program.ReleaseManager):
        raise ValueError(
          f'returns a {type(manager).__name__}; must return a'
          ' tff.program.ReleaseManager'
        )
    managers.append(NamedManager(name, manager))
  return managers


class NamedManager(tff.program.ReleaseManager):
  """Releases metrics by column; errors name the setting's value."""

  def __init__(self, name: str, manager: tff.program.ReleaseManager):
    self._name = name
    self._manager = manager

  async def release(self, value: metrics_table.RoundMetrics, key: int) -> None:
    try:
      await self._manager.release(metrics_table.by_column(value), key)
    except Exception as error:
      raise settings.SettingError(
        _RELEASE_MANAGERS,
        self._name,
        f'round {key} was not released ({type(error).__name__}: {error}); with'
        ' this mended, or without it, the same command goes on from the last'
        ' complete round',
      ) from error
