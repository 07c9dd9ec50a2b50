# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Accuracy with chosen and with random labels, and detection of wrong labels.

  python -m benchmarks.label_choice --data=digits --output_dir=results/labels

`--data` is digits, or a .npz file with `features`, `labels`, `test_features`
and `test_labels`. Each classifier is the regression on the labels alone with
which `launch.train client_priors` begins. The program writes two tables,
NAME_accuracy.csv and NAME_wrong_labels.csv, for data with this NAME. The figure
labels.svg shows all accuracy tables of the folder.
"""

from collections.abc import Iterator, Mapping, Sequence
import csv
import pathlib

from absl import app
from absl import flags
from matplotlib import figure
import numpy as np
import tensorflow as tf

from benchmarks import client_priors_inputs
from tff_semifl.algorithms.client_priors import server_labels
from tff_semifl.data import assisted_labeling
from tff_semifl.plots import figures
from tff_semifl.results import summary

_DATA = flags.DEFINE_string('data', 'digits', 'digits, or a file .npz.')
_OUTPUT_DIR = flags.DEFINE_string('output_dir', 'results/labels', 'Folder.')
_SEEDS = flags.DEFINE_list('seeds', ['0', '1', '2', '3', '4'], 'Seeds.')
_POOL = flags.DEFINE_integer('pool', 5000, 'Images to choose from.')
_DRAWS = flags.DEFINE_integer('draws', 10, 'Draws of wrong labels by seed.')
_NUMBERS = (10, 20, 40, 80, 160)
_RANDOM_DRAWS = 3
# The number of unlabeled images that help to find wrong labels.
_UNLABELED = 2000
_LABELS = 40
_NEXT = 10
_ROUNDS = 4
_LOOKED_AT = 10
_CLASSES = 10


@tf.function(reduce_retracing=True)
def _fit(x: tf.Tensor, targets: tf.Tensor) -> tf.Tensor:
  return server_labels.fit(x, targets).weights[0]


class _Seed:
  """The images to choose from, for one seed."""

  def __init__(self, data: tuple[np.ndarray, ...], seed: int):
    x, labels, self._test_x, self._test_labels = data
    self.generator = np.random.default_rng(seed)
    rows = self.generator.permutation(len(x))[: _POOL.value]
    self.x, self.labels, self._seed = x[rows], labels[rows], seed

  def train(self, chosen: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """The weights of the regression, float64 [features + 1, classes]."""
    x = tf.constant(self.x[chosen], tf.float64)
    return _fit(x, tf.one_hot(labels, _CLASSES, dtype=tf.float64)).numpy()

  def measure(self, weights: np.ndarray) -> float:
    """The test accuracy in percent."""
    logits = self._test_x @ weights[:-1] + weights[-1]
    return 100 * float(np.mean(logits.argmax(axis=1) == self._test_labels))

  def choose(self, number: int) -> np.ndarray:
    return assisted_labeling.choose_images(
      self.x, number, seed=self._seed
    ).indices

  def choose_next(self, chosen: np.ndarray) -> np.ndarray:
    """Adds images that differ from `chosen` and are hard to classify."""
    weights = self.train(chosen, self.labels[chosen])
    logits = self.x @ weights[:-1] + weights[-1]
    found = assisted_labeling.choose_images(
      self.x,
      _NEXT,
      labeled=self.x[chosen],
      uncertainty=1 - tf.nn.softmax(logits).numpy().max(axis=1),
      seed=self._seed,
    )
    return np.concatenate([chosen, found.indices])

  def draw(self, number: int) -> np.ndarray:
    return self.generator.choice(len(self.x), number, replace=False)


def _measure_accuracies(each: _Seed) -> Iterator[tuple[str, int, float]]:
  """Yields how images were chosen, their number, and the accuracy."""

  def measure(chosen: np.ndarray) -> float:
    return each.measure(each.train(chosen, each.labels[chosen]))

  for number in _NUMBERS:
    found = [measure(each.draw(number)) for _ in range(_RANDOM_DRAWS)]
    yield 'random', number, float(np.mean(found))
    yield 'chosen', number, measure(each.choose(number))
  start = rounds = each.choose(_LABELS)
  for _ in range(_ROUNDS):
    rounds = each.choose_next(rounds)
    yield 'rounds of ten', len(rounds), measure(rounds)
    more = np.setdiff1d(np.arange(len(each.x)), start)
    more = each.generator.choice(more, len(rounds) - len(start), replace=False)
    yield 'random after 40', len(rounds), measure(np.append(start, more))


def _find_wrong(each: _Seed) -> Iterator[tuple[object, ...]]:
  """Yields how images were chosen, and results of a check for wrong labels."""
  for how in ('random', 'chosen'):
    chosen = each.choose(_LABELS)
    for draw in range(_DRAWS.value):
      if how == 'random':
        chosen = each.draw(_LABELS)
      others = np.setdiff1d(each.draw(min(_UNLABELED, len(each.x))), chosen)
      for number in (1, 2, 4):
        labels = each.labels[chosen].copy()
        wrong = each.generator.choice(len(chosen), number, replace=False)
        shift = each.generator.integers(1, _CLASSES, number)
        labels[wrong] = (labels[wrong] + shift) % _CLASSES
        found = assisted_labeling.check_labels(
          each.x[chosen], labels, _CLASSES, each.x[others]
        )
        order = found[np.arange(len(labels)), labels].argsort(kind='stable')
        looked_at = order[:_LOOKED_AT]
        row = [how, number, int(np.isin(wrong, looked_at).sum())]
        if number == 2 and draw < 2:
          row.append(each.measure(each.train(chosen, labels)))
          labels[looked_at] = each.labels[chosen][looked_at]
          row.append(each.measure(each.train(chosen, labels)))
        yield tuple(row)


def summarize_accuracy(rows: Sequence[Mapping[str, str]]) -> Iterator[str]:
  """Yields rows of mean accuracies, and of gains with 95% intervals."""
  by_seed = {
    (row['images'], int(row['labels']), row['seed']): float(row['accuracy'])
    for row in rows
  }
  seeds = sorted({seed for *_, seed in by_seed})
  for number in sorted({number for _, number, _ in by_seed}):
    for base, other in (
      ('random', 'chosen'),
      ('random after 40', 'rounds of ten'),
    ):
      if (base, number, seeds[0]) not in by_seed:
        continue
      before, after = (
        [by_seed[how, number, seed] for seed in seeds] for how in (base, other)
      )
      gains = np.subtract(after, before).tolist()
      low, high = summary.of_mean(gains)
      yield (
        f'| {number} | {other} | {np.mean(before):.1f} | {np.mean(after):.1f} |'
        f' {np.mean(gains):+.1f} ({low:+.1f} to {high:+.1f}) |'
      )


def summarize_wrong(rows: Sequence[Mapping[str, str]]) -> Iterator[str]:
  """Yields rows of a table: found wrong labels, and accuracies."""
  for how in ('random', 'chosen'):
    for number in (1, 2, 4):
      own = [
        row
        for row in rows
        if row['images'] == how and int(row['wrong']) == number
      ]
      found = np.array([int(row['found']) for row in own])
      line = (
        f'| {how} | {number} | {len(own)} | {np.mean(found) / number:.0%} |'
        f' {np.mean(found == number):.0%} |'
      )
      pairs = [
        (float(row['accuracy_before']), float(row['accuracy_after']))
        for row in own
        if row['accuracy_before']
      ]
      if pairs:
        before, after = np.mean(pairs, axis=0)
        line += f' {before:.1f} | {after:.1f} |'
      else:
        line += ' | |'
      yield line


def _draw(folder: pathlib.Path) -> figure.Figure:
  """Plots accuracy by number of labels: means and 95% intervals over seeds."""
  files = sorted(folder.glob('*_accuracy.csv'))
  fig = figure.Figure((3.2 * len(files), 3), layout='constrained')
  for axes, path in zip(
    fig.subplots(ncols=len(files), squeeze=False)[0], files, strict=True
  ):
    rows = [*csv.DictReader(path.open())]
    for how in ('chosen', 'random'):
      values = [
        [
          float(row['accuracy'])
          for row in rows
          if row['images'] == how and int(row['labels']) == number
        ]
        for number in _NUMBERS
      ]
      low, high = zip(*map(summary.of_mean, values), strict=True)
      means = np.mean(values, axis=1)
      errors = (means - low, high - means)
      axes.errorbar(_NUMBERS, means, errors, label=how, capsize=2, marker='.')
    axes.set_xscale('log')
    axes.set_xticks(_NUMBERS, map(str, _NUMBERS), minor=False)
    axes.minorticks_off()
    axes.set_title(path.stem.removesuffix('_accuracy'))
    axes.set_xlabel('labels')
  fig.axes[0].set_ylabel('accuracy in percent')
  fig.axes[0].legend()
  return fig


def main(_: list[str]) -> None:
  """Writes both tables and the figure."""
  data = client_priors_inputs.read(_DATA.value)
  folder = pathlib.Path(_OUTPUT_DIR.value)
  folder.mkdir(parents=True, exist_ok=True)
  name = pathlib.Path(_DATA.value).stem
  for kind, columns, measure in (
    ('accuracy', ('images', 'labels', 'accuracy'), _measure_accuracies),
    (
      'wrong_labels',
      ('images', 'wrong', 'found', 'accuracy_before', 'accuracy_after'),
      _find_wrong,
    ),
  ):
    with open(folder / f'{name}_{kind}.csv', 'w', newline='') as file:
      table = csv.writer(file, lineterminator='\n')
      table.writerow(['seed', *columns])
      for seed in map(int, _SEEDS.value):
        for row in measure(_Seed(data, seed)):
          table.writerow([seed, *row])
          file.flush()
  figures.save(_draw(folder), [folder / 'labels.svg'])


if __name__ == '__main__':
  app.run(main)
