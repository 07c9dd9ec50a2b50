# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of plain federated averaging, without the papers' additions."""

from absl.testing import absltest
import numpy as np
import tensorflow as tf

from tasks import digits
from tests import small_digits
from tests import small_systems
from tff_semifl import settings
from tff_semifl.cli import commands
from tff_semifl.experiment import command
from tff_semifl.experiment import own_data

_PLAIN = {
  'clip_norm': 0,
  'momentum': 0,
  'weight_decay': 0,
  'global_momentum': 0,
  'constant_learning_rate': True,
  'learning_rate': 0.5,
  'weak_augmentation': 'none',
}


class PlainAveragingTest(absltest.TestCase):
  def test_images_as_they_are(self):
    data = commands.create_data({'task': 'digits'})
    images = tf.range(8 * 8 * 5)[:, tf.newaxis] % 256
    images = tf.cast(tf.reshape(images, [5, 8, 8, 1]), tf.uint8)
    seed = tf.constant([1, 2])
    self.assertNotAllEqual(
      data.create_task().weak_augmentation(images, seed), images
    )
    task = settings.change(data, {'weak_augmentation': 'none'}).create_task()
    np.testing.assert_array_equal(task.weak_augmentation(images, seed), images)
    # Strong views are changed by RandAugment alone.
    given = []
    strong = task.strong_augmentation._replace(
      strong=lambda images, seed: given.append(images) or images
    )
    strong(images, seed)
    np.testing.assert_array_equal(given[0], images)

  def assertNotAllEqual(self, values, others):  # noqa: N802
    self.assertFalse(np.array_equal(values, others))

  def test_own_data_of_clients_that_have_all_labels(self):
    data = digits.Digits().create().load()
    few = np.arange(100)
    task = own_data.own_data(data.train.select(few), data.test)
    with small_systems.without_process('supervised_fedavg'):
      experiment = command.create_experiment(
        'supervised_fedavg',
        task,
        create_model=small_digits.create_small_model,
        num_clients=4,
        clients_per_round=2,
        total_rounds=1,
        output_dir=self.create_tempdir().full_path,
        **_PLAIN,
      )
    self.assertEqual(experiment.clients.num_images, [25] * 4)
    # With labels at the server, their number must be given.
    for system_name in ('semifl', 'labels_alone'):
      with self.assertRaises(settings.SettingError) as raised:
        command.create_experiment(system_name, task)
      self.assertStartsWith(str(raised.exception), 'num_labeled: ')


if __name__ == '__main__':
  absltest.main()
