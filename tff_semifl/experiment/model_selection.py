# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Metrics of evaluations, and the choice of the model to export."""

from collections.abc import Mapping, Sequence
import dataclasses
import math
from typing import Any, NamedTuple

import numpy as np

from tff_semifl import settings
from tff_semifl.metrics import metric as metric_lib

_KINDS = ('validation', 'test')
# The metrics of every evaluation, and whether higher is better.
ALWAYS = {'accuracy': True, 'loss': False}


class Measurement:
  """Computes metrics of logits for a fixed set of images."""

  def __init__(
    self, names: Sequence[str], class_names: Sequence[str], labels: np.ndarray
  ):
    """Loads the metrics, and tries each metric on random logits."""
    self._labels = np.asarray(labels)
    self._class_names = class_names
    self._metrics: dict[str, metric_lib.Metric] = {}
    taken = set()
    for name in dict.fromkeys(names):
      try:
        metric = metric_lib.load(name)
      except ValueError as error:
        raise settings.SettingError('metrics', name, str(error)) from error
      if metric.name in ALWAYS:
        continue
      if metric.name in taken:
        raise settings.SettingError(
          'metrics', name, f'two metrics have the name {metric.name}'
        )
      if len(class_names) < metric.min_classes:
        raise settings.SettingError(
          'metrics',
          name,
          f'is the same for all models of {len(class_names)} classes',
        )
      taken.add(metric.name)
      self._metrics[name] = metric
    shape = len(self._labels), len(class_names)
    self(np.random.default_rng(0).normal(size=shape).astype(np.float32))

  def __bool__(self) -> bool:
    return bool(self._metrics)

  @property
  def metrics(self) -> tuple[metric_lib.Metric, ...]:
    return tuple(self._metrics.values())

  @property
  def directions(self) -> Mapping[str, bool]:
    """Maps each column, also of `ALWAYS`, to whether higher is better."""
    return {
      **ALWAYS,
      **{
        column: metric.higher_is_better
        for metric in self._metrics.values()
        for column in metric.columns(self._class_names)
      },
    }

  def __call__(self, logits: np.ndarray) -> dict[str, float]:
    """The metrics by column; NaN if undefined, or if logits are not finite."""
    measured = {}
    is_finite = np.isfinite(logits).all()
    for name, metric in self._metrics.items():
      columns = metric.columns(self._class_names)
      values = np.full(len(columns), np.nan)
      if is_finite:
        try:
          values = np.reshape(metric.compute(self._labels, logits), -1)
        except Exception as error:
          raise settings.SettingError(
            'metrics', name, f'failed ({type(error).__name__}: {error})'
          ) from error
      measured.update(zip(columns, map(float, values), strict=True))
    return measured


class Best(NamedTuple):
  """The best evaluated round and its model, as part of checkpoints.

  In a tie, the first round is best. Without a best round, `round_num` is -1 and
  `value` is NaN. `num_since` counts the evaluations since the best round, or
  since training began.
  """

  value: float = math.nan
  round_num: int = -1
  num_since: int = 0
  accuracy: float = math.nan
  weights: Any = ()


@dataclasses.dataclass(frozen=True, kw_only=True)
class ModelChoice:
  """The column of `metrics.csv` that selects a model, and early stopping.

  Training ends after `stop_after` evaluations without improvement.
  """

  column: str
  higher_is_better: bool
  stop_after: int | None = None

  def update(self, best: Best, columns: Mapping[str, float], now: Best) -> Best:
    """The better of two rounds; in a tie, the earlier round.

    `now.value` is taken from `columns`, the metrics of the round `now`.
    """
    value = columns[self.column]
    is_better = (
      value > best.value if self.higher_is_better else (value < best.value)
    )
    # Comparisons with NaN are false.
    if is_better or (math.isnan(best.value) and not math.isnan(value)):
      return now._replace(value=value)
    return best._replace(num_since=best.num_since + 1)

  def is_over(self, best: Best) -> bool:
    return self.stop_after is not None and best.num_since >= self.stop_after


def _is_column(value: str) -> bool:
  kind, _, metric = value.partition('/')
  return kind in _KINDS and bool(metric)


@dataclasses.dataclass(frozen=True, kw_only=True)
class ModelSelection(settings.Settings):
  """The choice of the round whose model is exported, and early stopping."""

  # Settings that may change when a run is resumed.
  may_change = ('stop_after',)

  keep_best: str | None = settings.setting(
    None,
    'Export the model of the evaluated round with the best value of a metric,'
    ' instead of the last round: one of --metrics or loss, such as'
    ' validation/macro_f1 or validation/recall/cat. Needs --num_validation;'
    ' with test/macro_f1 the test images choose, and the model card says so.',
    settings.Values('validation/METRIC or test/METRIC', _is_column),
  )
  stop_after: int | None = settings.setting(
    None,
    'Number of evaluations without improvement of --keep_best after which'
    ' training ends. It may be larger when a run is resumed.',
    settings.AT_LEAST_1,
  )

  def check(self, *, validates: bool, can_validate: bool) -> None:
    """Checks that the metric of `keep_best` is for the evaluated images.

    `can_validate` is whether the system has a setting for a validation split.
    """
    if self.keep_best is None:
      if self.stop_after is not None:
        raise self.error(
          'stop_after',
          'needs keep_best, the metric to improve, such as validation/macro_f1',
        )
      return
    kind, _, metric = self.keep_best.partition('/')
    if (kind == 'validation') == validates:
      return
    if validates:
      reason = (
        f'with num_validation nothing is tested; name validation/{metric}'
      )
    elif can_validate:
      reason = 'needs num_validation, the number of images for the choice'
    else:
      reason = (
        'this system has no labels to validate on; it can only be'
        f' test/{metric}, by the test images'
      )
    raise self.error('keep_best', reason)

  def create_measurement(
    self, metrics: Sequence[str], class_names: Sequence[str], labels: np.ndarray
  ) -> Measurement:
    """Creates the measurement of the metrics in `metrics` and `keep_best`."""
    found = Measurement(metrics, class_names, labels)
    name = (self.keep_best or '').partition('/')[2]
    if not name or name in found.directions:
      return found
    # The column of a single class is named 'METRIC/CLASS'.
    metric, _, of_class = name.partition('/')
    if metric in metric_lib.METRICS or of_class in class_names:
      name = metric
    if name in metrics:
      return found
    try:
      return Measurement([*metrics, name], class_names, labels)
    except settings.SettingError as error:
      raise self.error('keep_best', error.problem) from error

  def create_choice(self, found: Measurement) -> ModelChoice | None:
    """The choice of the model to export; None for the last round's model."""
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
      raise self.error(
        'keep_best',
        f'{settings.did_you_mean(column, columns)}name one of'
        f' {", ".join(f"{kind}/{each}" for each in columns)}',
      )
    return ModelChoice(
      column=f'{kind}/{column}',
      higher_is_better=found.directions[column],
      stop_after=self.stop_after,
    )
