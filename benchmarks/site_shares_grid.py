# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

r"""The gain from a site's class shares, for normally distributed classes.

  python -m benchmarks.site_shares_grid --table_file=results/grid.csv

Each classifier is a logistic regression on a few labels of each class. The
prior of class shares is estimated at 40 clients. Sites either resemble the
clients, or have one class only, unlike all clients. A site estimates its class
shares from as many images as a client has. Each row of the table has the mean
accuracy over sites, measured on 300 other images of each site.
"""

from collections.abc import Callable
import itertools
import pathlib

from absl import app
from absl import flags
import numpy as np
from sklearn import linear_model
import tensorflow as tf

from tff_semifl.label_shift import share_prior

_SEEDS = flags.DEFINE_list('seeds', ['0', '1', '2'], 'Seeds.')
_TABLE_FILE = flags.DEFINE_string('table_file', None, 'CSV file to write.')
_COLUMNS = 'classes,labels,clients,site,images,seed,strength,global,own'
# The number of dimensions, and the deviation of class means, for which a few
# labels give accuracies of 65% to 97%.
_CLASSES = {2: (8, 0.8), 10: (16, 0.9), 100: (32, 1.0)}
_LABELS = (2, 20)
_KINDS = ('two classes', 'dirichlet 0.1', 'dirichlet 0.5', 'alike')
_NUMBERS = (1, 3, 10, 100, 1000)
_NUM_CLIENTS, _NUM_TESTED = 40, 300


def draw_shares(
  kind: str, num_classes: int, rng: np.random.Generator
) -> np.ndarray:
  """Draws class shares of clients or sites, float64 [clients, classes]."""
  if kind == 'alike':
    return np.full([_NUM_CLIENTS, num_classes], 1 / num_classes)
  if kind.startswith('dirichlet'):
    concentration = float(kind.split()[1])
    return rng.dirichlet(np.full(num_classes, concentration), _NUM_CLIENTS)
  number = 1 if kind == 'one class' else 2
  shares = np.zeros([_NUM_CLIENTS, num_classes])
  for each in shares:
    each[rng.choice(num_classes, number, replace=False)] = 1 / number
  return shares


def learn(
  num_classes: int, num_labels: int, rng: np.random.Generator
) -> tuple[Callable, Callable]:
  """Two functions: draw examples of given labels, and classify examples."""
  size, deviation = _CLASSES[num_classes]
  means = deviation * rng.normal(size=[num_classes, size])

  def draw(labels: np.ndarray) -> np.ndarray:
    return means[labels] + rng.normal(size=[len(labels), size])

  labels = np.repeat(np.arange(num_classes), num_labels)
  model = linear_model.LogisticRegression().fit(draw(labels), labels)
  return draw, lambda x: model.predict_log_proba(x).astype(np.float32)


def measure(
  num_classes: int, num_labels: int, kind: str, number: int, seed: int
) -> list[tuple]:
  """Rows of the table, for sites like the clients and sites of one class."""
  rng = np.random.default_rng([seed, num_classes, num_labels])
  draw, classify = learn(num_classes, num_labels, rng)

  def draw_site(shares: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray]:
    labels = rng.choice(num_classes, size, p=shares)
    return classify(draw(labels)), labels

  prior = share_prior.find_share_prior(
    (
      draw_site(shares, number)[0]
      for shares in draw_shares(kind, num_classes, rng)
    ),
    np.full(num_classes, 1 / num_classes),
  )
  rows = []
  for site in (kind, 'one class'):
    right = []
    for shares in draw_shares(site, num_classes, rng):
      own, _ = draw_site(shares, number)
      logits, labels = draw_site(shares, _NUM_TESTED)
      found = share_prior.estimate_site_shares(tf.constant(own), prior)
      adapted = share_prior.adapt_logits(logits, found.shares, prior).numpy()
      right.append(
        [np.mean(x.argmax(axis=1) == labels) for x in (logits, adapted)]
      )
    key = [num_classes, num_labels, kind, site, number, seed]
    rows.append((*key, prior.strength, *np.mean(right, axis=0).round(4)))
  return rows


def main(argv: list[str]) -> None:
  """Writes the table; prints each classifier's least and greatest mean gain."""
  del argv
  lines = [_COLUMNS]
  for num_classes, num_labels in itertools.product(_CLASSES, _LABELS):
    gains = {}
    for kind, number, seed in itertools.product(
      _KINDS, _NUMBERS, map(int, _SEEDS.value)
    ):
      for row in measure(num_classes, num_labels, kind, number, seed):
        lines.append(','.join(map(str, row)))
        gains.setdefault(row[2:5], []).append(100 * (row[-1] - row[-2]))
    means = {cell: np.mean(each) for cell, each in gains.items()}
    for each in (min(means, key=means.get), max(means, key=means.get)):
      print(num_classes, num_labels, each, f'{means[each]:+.1f}', flush=True)
  pathlib.Path(_TABLE_FILE.value).write_text('\n'.join(lines) + '\n')


if __name__ == '__main__':
  flags.mark_flag_as_required(_TABLE_FILE.name)
  app.run(main)
