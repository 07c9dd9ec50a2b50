# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Facts and warnings about an experiment, before training and in each round."""

from collections.abc import Iterator
import math

from absl import logging
import numpy as np
import tqdm

from tff_semifl import settings
from tff_semifl.experiment import client_privacy
from tff_semifl.experiment import experiment as experiment_lib
from tff_semifl.experiment import experiment_folder
from tff_semifl.experiment import metrics_table
from tff_semifl.experiment import model_results
from tff_semifl.metrics import intervals
from tff_semifl.privacy import privacy_statement

# A remedy is suggested from this ratio of the largest to the smallest class.
_IMBALANCED = 5
# Evaluated rounds in a row without a pseudo-label, before a warning.
_PATIENCE = 5
_PATIENCE_IF_WRONG = 3
# A warning needs this share of labeled images, and this share of wrong labels.
_MANY, _WRONG = 0.5, 0.25
_ALL, _WRONG_IF_ALL = 0.99, 0.05
_CLIENTS_ALONE = 'labeled_clients_alone'


def find_facts(experiment: experiment_lib.Experiment) -> list[str]:
  """Lines shown before training, such as the precision of the accuracy."""
  sizes = model_results.count_by_class(experiment)
  num_images = int(sizes.sum())
  low, high = intervals.of_accuracy(num_images // 2, num_images)
  kind = 'validation' if experiment.validates else 'test'
  lines = [
    f'{kind} accuracy is over {intervals.describe_images(sizes)}: one image is'
    f' {100 / num_images:.2g} points, and a 95% interval is up to'
    f' {100 * (high - low):.2g} points wide',
    *experiment.data.partition_notes,
    _describe_imbalance(experiment),
  ]
  privacy = promise(experiment)
  if privacy is not None:
    lines.append(f'privacy: {privacy.headline}')
  return [line for line in lines if line is not None]


def _describe_imbalance(experiment: experiment_lib.Experiment) -> str | None:
  """One line on the server's class imbalance; None if classes are balanced."""
  names = experiment.task.class_names
  sizes = np.bincount(experiment.data.labeled.labels, minlength=len(names))
  least, most = int(sizes.argmin()), int(sizes.argmax())
  if sizes[least] == sizes[most]:
    return None
  line = (
    f'the server has {sizes.sum()} labels, from {sizes[least]} of'
    f' {names[least]} to {sizes[most]} of {names[most]};'
    ' --metrics=macro_f1,recall shows what accuracy hides of small classes'
  )
  balance = settings.as_dict(experiment.settings.system)
  if (
    sizes[most] >= _IMBALANCED * max(sizes[least], 1)
    and balance.get('server_logit_adjustment') == 0
    and not balance['server_balanced_sampling']
  ):
    line += ', and --server_logit_adjustment=1 may help them'
  return line


def find_problems(experiment: experiment_lib.Experiment) -> Iterator[str]:
  """Yields warnings about the settings and the data."""
  names = experiment.task.class_names
  sizes = model_results.count_by_class(experiment)
  missing = [names[label] for label in np.flatnonzero(sizes == 0)]
  if missing:
    more = f' and {len(missing) - 10} more' if len(missing) > 10 else ''
    yield (
      f'no image to evaluate on is of class {", ".join(missing[:10])}{more}:'
      f' the accuracy is over {len(names) - len(missing)} of {len(names)}'
      ' classes'
    )
  system = experiment.settings.system
  labels = experiment.data.labeled.labels
  if system.clients_have_labels:
    labels = np.concatenate([labels, experiment.data.client_labels])
  if missing := [name for i, name in enumerate(names) if i not in labels]:
    yield (
      f'no label to train on is of class {", ".join(missing[:10])}, which the'
      ' model will not predict'
    )
  if experiment.data.has_some_labels and not system.clients_have_labels:
    yield 'labels of clients are unused; semifl_server_and_clients uses them'
  values = settings.as_dict(system)
  steps = system.count_steps(
    len(experiment.data.labeled.labels), experiment.clients.num_images
  )
  if (
    not steps.server
    and not values.get('server_pretraining_epochs')
    and not system.clients_have_labels
  ):
    yield (
      'the server takes no step in a round, so that its labels are unused;'
      f' raise --server_epochs (now {values.get("server_epochs")})'
    )
  privacy = promise(experiment)
  if privacy is not None and privacy.is_weak:
    yield privacy.meaning


def promise(
  experiment: experiment_lib.Experiment,
) -> privacy_statement.PrivacyStatement | None:
  """The privacy guarantee after all rounds; None without privacy."""
  if experiment.settings.private_mean is None:
    return None
  return client_privacy.describe(
    experiment_folder.recorded_settings(experiment), experiment.total_rounds
  )


class TrainingWarnings:
  """Warns once of missing pseudo-labels, and once of many wrong ones.

  Each warning begins with `label`.
  """

  def __init__(self, label: str, experiment: experiment_lib.Experiment):
    self._label = label
    self._clients_per_round = experiment.clients.clients_per_round
    self._num_classes = experiment.task.num_classes
    self._num_test_images = len(experiment.data.test.labels)
    # None if the system does not use the threshold.
    self._threshold = settings.as_dict(experiment.settings.system).get(
      'confidence_threshold'
    )
    system = experiment.settings.system
    self._has_server = system.server_trains_alone
    self._alone = '--clients_per_round=0'
    if not system.server_trains_alone:
      self._alone = (
        'labels_alone' if system.server_has_labels else _CLIENTS_ALONE
      )
    self._num_unlabeled = 0
    self._num_wrong = 0
    self._problems_named = set()

  def check_round(
    self, round_num: int, metrics: metrics_table.RoundMetrics
  ) -> None:
    """Checks an evaluated round, and warns of each problem once."""
    # Rounds without clients, such as round 0, have no pseudo-labels.
    if not round_num or not self._clients_per_round:
      return
    client = metrics.client
    ratio = client.label_ratio
    if math.isnan(ratio):
      return  # Clients are absent, or have labels.
    wrong = self._share_of_wrong(metrics)
    limit = _WRONG_IF_ALL if ratio >= _ALL else _WRONG
    # Soft labels for all images express the uncertainty themselves.
    are_soft = self._threshold is None and ratio >= _ALL
    is_wrong = not are_soft and ratio >= _MANY and wrong >= limit
    self._num_wrong = self._num_wrong + 1 if is_wrong else 0
    self._num_unlabeled = self._num_unlabeled + 1 if ratio == 0 else 0
    if self._num_unlabeled == _PATIENCE:
      lower = '' if self._threshold is None else 'a lower threshold, '
      self._warn(
        'unlabeled',
        f'clients trained on no pseudo-label in the last {_PATIENCE} evaluated'
        f' rounds with pseudo-labels{self._describe_state(metrics)}. What'
        f' helps: {lower}more labels, or, if those are not learned,'
        f'{" more --server_epochs or" if self._has_server else ""} another'
        ' --learning_rate',
      )
    if self._num_wrong == _PATIENCE_IF_WRONG:
      estimated = ''
      if math.isnan(client.micro_threshold_accuracy):
        estimated = (
          f', if the accuracy on {self._num_test_images} evaluated images holds'
          ' for clients, too'
        )
      self._warn(
        'wrong',
        f'{ratio:.1%} of pseudo-labels are trained on, of which {wrong:.1%} or'
        f' more are wrong{estimated}{self._describe_state(metrics)}. What'
        ' helps: a higher threshold, more labels, or a method for clients that'
        ' differ, such as client_prior_semifl; compare with labels alone,'
        f' {self._alone}',
      )

  def _share_of_wrong(self, metrics: metrics_table.RoundMetrics) -> float:
    """A lower bound on the share of wrong pseudo-labels in training."""
    share_right = metrics.client.micro_threshold_accuracy
    if not math.isnan(share_right):
      return 1 - share_right
    if not metrics.client.label_ratio > 0:
      return 0.0
    # At best, every image that the model classifies correctly has a label.
    num_right = round(metrics.evaluation.accuracy * self._num_test_images)
    most_right = intervals.of_accuracy(num_right, self._num_test_images).high
    return max(1 - most_right / metrics.client.label_ratio, 0.0)

  def _describe_state(self, metrics: metrics_table.RoundMetrics) -> str:
    known = []
    highest = metrics.client.own.get(metrics_table.HIGHEST_CONFIDENCE, math.nan)
    if not math.isnan(highest):
      known.append(f"clients' highest confidence is {highest:.3g} on average")
    if self._threshold is not None:
      known.append(
        f'--confidence_threshold is {self._threshold:g}, and no confidence is'
        f' below {1 / self._num_classes:.2g}'
      )
    if not math.isnan(metrics.server.accuracy):
      known.append(
        "the server's accuracy on its own labels, while it trains, is"
        f' {metrics.server.accuracy:.1%}'
      )
    return f' ({"; ".join(known)})' if known else ''

  def _warn(self, problem: str, text: str) -> None:
    if problem not in self._problems_named:
      self._problems_named.add(problem)
      # Above the progress bar, if there is one.
      with tqdm.tqdm.external_write_mode():
        logging.warning('%s: %s', self._label, text)
