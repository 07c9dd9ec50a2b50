# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Settings of model selection and early stopping."""

from collections.abc import Sequence
import dataclasses

import numpy as np

from tff_semifl import settings
from tff_semifl.metrics import measurement
from tff_semifl.metrics import metric as metric_lib
from tff_semifl.runs import training_program

_KINDS = ('validation', 'test')


def _is_column(value: str) -> bool:
  kind, _, metric = value.partition('/')
  return kind in _KINDS and bool(metric)


@dataclasses.dataclass(frozen=True, kw_only=True)
class ModelSelection(settings.Settings):
  """Which round's model is exported, and when training stops early."""

  # Settings that may change when a run is resumed.
  may_change = ('stop_after',)

  keep_best: str | None = settings.setting(
    None,
    'Export the model of the evaluated round with the best value of a metric,'
    ' such as validation/macro_f1, and not that of the last round. Needs'
    ' --num_validation; test/macro_f1 lets the test images choose, and the'
    ' model card says so. The metric is one that --metrics takes, of a class as'
    ' in validation/recall/cat, or loss.',
    settings.Values('validation/METRIC or test/METRIC', _is_column),
  )
  stop_after: int | None = settings.setting(
    None,
    'End training after so many evaluations without gain of --keep_best. It may'
    ' be larger when a run is resumed.',
    settings.AT_LEAST_1,
  )

  def check(self, *, validates: bool, can_validate: bool) -> None:
    """Checks that models are evaluated on the images that select.

    `can_validate` says whether the system has a setting for a validation split.
    """
    if self.keep_best is None:
      if self.stop_after is not None:
        raise settings.SettingError(
          'stop_after',
          self.stop_after,
          'needs keep_best, validation/macro_f1 say: the metric to gain',
        )
      return
    kind, _, metric = self.keep_best.partition('/')
    if kind == 'test' and validates:
      raise settings.SettingError(
        'keep_best',
        self.keep_best,
        f'with num_validation nothing is tested; name validation/{metric}',
      )
    if kind == 'validation' and not validates:
      remedy = 'needs num_validation, so many labeled images to choose by'
      if not can_validate:
        remedy = (
          'this system has no labels to validate on; it can only be'
          f' test/{metric}, by the test images'
        )
      raise settings.SettingError('keep_best', self.keep_best, remedy)

  def create_measurement(
    self,
    metrics: Sequence[str],
    class_names: Sequence[str],
    labels: np.ndarray,
  ) -> measurement.Measurement:
    """The metrics of the setting `metrics`, and the one that selects.

    Labels are int [images], of the images to evaluate on.
    """
    found = _measure('metrics', metrics, metrics, class_names, labels)
    if self.keep_best is None:
      return found
    name = self.keep_best.partition('/')[2]
    if name in found.directions:
      return found
    # A column of one class is 'METRIC/CLASS'.
    metric, _, of_class = name.partition('/')
    if metric in metric_lib.METRICS or of_class in class_names:
      name = metric
    if name in metrics:
      return found
    return _measure(
      'keep_best', self.keep_best, [*metrics, name], class_names, labels
    )

  def create_choice(
    self, found: measurement.Measurement
  ) -> training_program.ModelChoice | None:
    """How the model is selected; None for the last round's."""
    if self.keep_best is None:
      return None
    kind, _, column = self.keep_best.partition('/')
    if column not in found.directions and ':' in column:
      column = column.rpartition(':')[2]
    if column not in found.directions:
      metric = column.partition('/')[0]
      columns = [
        each for each in found.directions if each.startswith(f'{metric}/')
      ] or [metric]
      raise settings.SettingError(
        'keep_best',
        self.keep_best,
        f'{settings.did_you_mean(column, columns)}name one of'
        f' {", ".join(f"{kind}/{each}" for each in columns)}',
      )
    return training_program.ModelChoice(
      column=f'{kind}/{column}',
      higher_is_better=found.directions[column],
      stop_after=self.stop_after,
    )


def _measure(
  setting: str,
  value: object,
  names: Sequence[str],
  class_names: Sequence[str],
  labels: np.ndarray,
) -> measurement.Measurement:
  try:
    return measurement.Measurement(names, class_names, labels)
  except measurement.MetricError as error:
    # A value of several names is too long to repeat.
    shown = error.name if isinstance(value, list | tuple) else value
    raise settings.SettingError(setting, shown, error.reason) from error
