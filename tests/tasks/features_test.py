# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of the task of a file of feature vectors."""

import os
import pathlib

import numpy as np
import tensorflow as tf

from tasks import features
from tests import small_systems
from tests.data import small_features
from tff_semifl.cli import commands
from tff_semifl.experiment import experiment as experiment_lib
from tff_semifl.experiment import plan


class FeaturesTest(tf.test.TestCase):
  def setUp(self):
    super().setUp()
    self.enter_context(small_systems.without_process('semifl'))
    self._path = pathlib.Path(self.create_tempdir()) / 'small.npz'
    small_features.save(self._path)

  def _create(self):
    return features.Features(features_file=str(self._path)).create()

  def _experiment(self, system='semifl', **values):
    values = {'task': 'features', 'features_file': str(self._path)} | values
    command = commands.create(system, values)
    return experiment_lib.create_experiment(command.experiment, command.run)

  def test_file_says_who_has_what(self):
    experiment = self._experiment()
    arrays = small_features.create()
    found = experiment.data
    # In the order of training, which differs.
    self.assertAllEqual(
      np.sort(found.labeled.images, axis=0), np.sort(arrays['features'], axis=0)
    )
    self.assertAllEqual(found.unlabeled.images, arrays['client_features'])
    self.assertAllEqual(found.unlabeled.true_labels, arrays['client_labels'])
    self.assertAllEqual(experiment.clients.num_images, [8] * 5)
    described = plan.describe(experiment)
    self.assertEqual(described['image_shape'], (small_features.NUM_FEATURES,))
    self.assertEqual(described['flags']['num_labeled'], 13)
    self.assertEqual(described['flags']['num_clients'], 5)
    self.assertEqual(described['flags']['model'], 'linear')
    self.assertEqual(
      described['trainable_parameters'], (small_features.NUM_FEATURES + 1) * 3
    )
    self.assertStartsWith(
      described['data'],
      '13 labeled feature vectors, 40 of 5 clients, 30 of the file for testing',
    )
    self.assertEqual(
      experiment.run.experiment_name, 'semifl_features_small_seed0'
    )

  def test_settings_say_it_where_the_file_does_not(self):
    small_features.save(self._path, client_ids=None)
    found = self._experiment(
      num_clients=3,
      partition='classes',
      classes_per_client=1,
      clients_per_round=3,
    ).data
    # All labels are at the server, as many as each class has.
    self.assertAllEqual(np.bincount(found.labeled.labels), [5, 4, 4])
    self.assertLen(found.unlabeled.images, 40)
    for share in found.shares:
      self.assertLen(np.unique(found.unlabeled.true_labels[share]), 1)
    # Or only some labels are at the server; other vectors are unlabeled.
    found = self._experiment(
      num_clients=3, num_labeled=6, clients_per_round=3
    ).data
    self.assertAllEqual(np.bincount(found.labeled.labels), [2, 2, 2])
    self.assertLen(found.unlabeled.images, 40 + 7)

  def test_changed_file_is_read_again(self):
    before = self._create()
    self.assertIs(self._create(), before)
    labels = 2 - np.arange(13) % 3
    small_features.save(self._path, labels=labels)
    os.utime(self._path, (1, 1))
    after = self._create()
    self.assertAllEqual(after.load().train.labels, labels)
    self.assertNotEqual(before.data_description, after.data_description)
