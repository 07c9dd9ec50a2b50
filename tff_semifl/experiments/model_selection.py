# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Settings of model selection and early stopping."""

from collections.abc import Sequence
import dataclasses

import numpy as np

from tff_semifl import settings
from tff_semifl.metrics import measurement
from tff_semifl.metrics import metric as metric_lib
from tff_semifl.runs import best_models

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
    if self.keep_best is None or self._metric_name in found.directions:
      return found
    # A column of one class is 'METRIC/CLASS'.
    name, _, of_class = self._metric_name.partition('/')
    by_class = metric_lib.METRICS.get(name)
    if of_class and by_class is not None and by_class.by_class:
      self._check_class(by_class.columns(class_names))
    elif ':' in name or of_class not in class_names:
      name = self._metric_name
    if any(name == each for each in metrics):
      return found
    return _measure(
      'keep_best', self.keep_best, [*metrics, name], class_names, labels
    )

  def create_choice(
    self, found: measurement.Measurement
  ) -> best_models.ModelChoice | None:
    """How the model is selected; None for the last round's."""
    if self.keep_best is None:
      return None
    kind, _, metric = self.keep_best.partition('/')
    column = metric
    if column not in found.directions and ':' in metric:
      column = metric.rpartition(':')[2]
    if column not in found.directions:
      classes = [
        f'{kind}/{each}'
        for each in found.directions
        if each.startswith(f'{column}/')
      ]
      raise settings.SettingError(
        'keep_best',
        self.keep_best,
        'has a value for each class; name one of' f' {", ".join(classes)}',
      )
    return best_models.ModelChoice(
      column=f'{kind}/{column}',
      higher_is_better=found.directions[column],
      stop_after=self.stop_after,
    )

  def _check_class(self, columns: Sequence[str]) -> None:
    """Checks that a column of one class is one of those of a metric."""
    if self._metric_name not in columns:
      kind, _, name = (self.keep_best or '').partition('/')
      hint = settings.did_you_mean(name, columns)
      raise settings.SettingError(
        'keep_best',
        self.keep_best,
        f'{hint}there is no such class; must be one of'
        f' {", ".join(f"{kind}/{each}" for each in columns)}',
      )

  @property
  def _metric_name(self) -> str:
    return self.keep_best.partition('/')[2]


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
