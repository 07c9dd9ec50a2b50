# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Runs each example for one or two rounds."""

import contextlib
import csv
import pathlib

from absl.testing import absltest
import numpy as np
import pytest

from examples import choose_images_at_clients
from examples import macro_f1
from examples import own_data
from examples import own_method
from examples import own_model
from examples import own_pooled_method
from examples import tff_program
from examples import theorem_1
from tests import small_digits
from tests.repository import source_tree
import tff_semifl as sfl


@contextlib.contextmanager
def _with_little_to_build():
  with small_digits.without_rand_augment(), small_digits.without_wide_resnet():
    yield


def _read(path):
  with path.open() as file:
    return list(csv.DictReader(file))


@pytest.mark.slow
class ExamplesTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.folder = pathlib.Path(self.create_tempdir().full_path)

  def _train(self, example):
    """Trains; returns the metrics of rounds 0 to 2."""
    accuracy = example.main(total_rounds=2, output_dir=str(self.folder))
    (experiment,) = self.folder.iterdir()
    rows = _read(experiment / 'metrics.csv')
    self.assertLen(rows, 3)
    self.assertAlmostEqual(float(rows[-1]['test/accuracy']), accuracy, places=4)
    self.assertTrue((experiment / 'export' / 'saved_model.pb').exists())
    return rows

  def test_each_has_a_test(self):
    tests = '\n'.join(
      path.read_text() for path in pathlib.Path(__file__).parent.glob('*.py')
    )
    # Bazel adds an `__init__.py`.
    for path in (source_tree.PROJECT_ROOT / 'examples').glob('[!_]*.py'):
      self.assertIn(f'from examples import {path.stem}\n', tests)

  def test_choose_images_at_clients(self):
    features = np.random.default_rng(0).normal(size=[60, 5])
    features[:, 0] *= 3
    with sfl.simulation_context():
      found = choose_images_at_clients.choose(
        np.split(features, [10, 35]), 7, steps=3
      )
    points = features - features.mean(axis=0)
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    # Rotations of all points change no distance.
    basis = np.linalg.eigh(np.cov(features.T))[1]
    centers = np.random.default_rng(0).multivariate_normal(
      np.mean(points @ basis, axis=0),
      np.cov((points @ basis).T, bias=True) / 4,
      7,
    )

    def measure():
      return np.linalg.norm((points @ basis)[:, np.newaxis] - centers, axis=2)

    for _ in range(3):
      cluster = measure().argmin(axis=1)
      centers = np.array(
        [
          (center + (points @ basis)[cluster == each].sum(axis=0))
          / (1 + np.sum(cluster == each))
          for each, center in enumerate(centers)
        ]
      )
    expected = np.unique(measure().argmin(axis=0))
    rows = np.concatenate(
      [own + start for own, start in zip(found, (0, 10, 35), strict=True)]
    )
    self.assertEqual(rows.tolist(), expected.tolist())
    of_random, of_chosen = choose_images_at_clients.main(steps=3)
    self.assertGreater(of_chosen, of_random + 0.03)

  def test_macro_f1(self):
    with _with_little_to_build():
      best = macro_f1.main(
        num_clients=4,
        clients_per_round=1,
        client_epochs=1,
        total_rounds=3,
        output_dir=str(self.folder),
      )
    (experiment,) = self.folder.iterdir()
    rows = _read(experiment / 'metrics.csv')
    self.assertEqual(
      best, max(float(row['validation/macro_f1']) for row in rows)
    )
    self.assertTrue((experiment / 'export' / 'saved_model.pb').exists())

  def test_own_data(self):
    with _with_little_to_build():
      self._train(own_data)

  def test_own_model(self):
    with small_digits.without_rand_augment():
      rows = self._train(own_model)
    # By chance, the accuracy would be a tenth.
    self.assertGreater(float(rows[-1]['test/accuracy']), 0.5)

  def test_own_method(self):
    with _with_little_to_build():
      rows = self._train(own_method)
    # The threshold of the example accepts all images, and SemiFL's threshold
    # none.
    self.assertEqual(float(rows[-1]['client/label_ratio']), 1)

  def test_own_pooled_method(self):
    rows = self._train(own_pooled_method)
    # By chance, the accuracy would be a tenth.
    self.assertGreater(float(rows[-1]['test/accuracy']), 0.5)

  def test_tff_program(self):
    with _with_little_to_build():
      tff_program.main(total_rounds=2, output_dir=str(self.folder))
    rows = _read(self.folder / 'metrics.csv')
    self.assertEqual([row['round'] for row in rows], ['1', '2'])
    self.assertTrue((self.folder / 'model').exists())

  def test_theorem_1(self):
    # Equation 10 of SemiFL, literally.
    x = np.array([0.9, 0.1, 0.5, 0.3, 0.55])
    y = np.array([1, 0, 1, 0, 1])
    classifier = theorem_1.train(x, y, bandwidth=0.2)
    for place in (0.0, 0.3, 0.4, 0.72, 1.3):
      near = np.abs(x - place) <= 0.2
      self.assertEqual(
        classifier.estimate(np.array([place])),
        [y[near].mean() if near.any() else 0],
      )
    # Risks of the best and of the worst classifier.
    self.assertLess(theorem_1.train(x, y, 0.05).risk(), 0.5)
    slopes = theorem_1.main((10_000, 300_000), 8, str(self.folder))
    predicted = [-0.8 * 2 / 5, -2 / 5.5, -2 / 7]
    for (found, said), expected in zip(slopes.values(), predicted, strict=True):
      self.assertAlmostEqual(said, expected)
      self.assertBetween(found, expected - 0.1, expected + 0.1)
    self.assertTrue((self.folder / 'theorem_1.svg').exists())
