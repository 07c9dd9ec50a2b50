# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Settings of a run that do not affect the trained model.

These settings may change when a run is resumed.
"""

import dataclasses
import pathlib
from typing import Any

from tff_semifl import settings
from tff_semifl.experiment import experiment_settings
from tff_semifl.experiment import hparams_file
from tff_semifl.experiment import release_managers
from tff_semifl.experiment import runtimes
from tff_semifl.metrics import metric
from tff_semifl.settings import references


@dataclasses.dataclass(frozen=True, kw_only=True)
class RunSettings(settings.Settings):
  """Settings for evaluating a run and for writing its results."""

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
    """Fills in defaults, such as the name; `experiment` must be filled in."""
    settings.check_names(experiment, _OWNERS)
    for name in self.release_managers:
      release_managers.load(name)
    values = settings.as_dict(experiment.system)
    if values.get('keep_client_momentum') and self.rounds_per_evaluation > 1:
      raise self.error(
        'rounds_per_evaluation',
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
