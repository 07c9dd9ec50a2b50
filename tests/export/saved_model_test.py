# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of the exported SavedModel."""

import json
import pathlib
import subprocess
import sys
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import pytest
import tensorflow as tf

from tests.export import small_model
from tff_semifl.export import exported_model
from tff_semifl.export import saved_model
from tff_semifl.models import keras_conversion
from tff_semifl.models import zhang2020_networks

_NAMES = small_model.CLASS_NAMES
# Loads a model in a process with TensorFlow, but without TFF and this project.
_LOAD = """
import json, sys
for name in ('tensorflow_federated', 'tff_semifl', 'keras_cv'):
  sys.modules[name] = None
import numpy as np
import tensorflow as tf
serve = tf.saved_model.load(sys.argv[1]).signatures['serving_default']
outputs = serve(images=tf.constant(np.load(sys.argv[2])))
json.dump(
  [
    outputs['probabilities'].numpy().tolist(),
    [name.decode() for name in outputs['class_name'].numpy()],
  ],
  sys.stdout,
)
"""


class _OneHotIfBright(tf.keras.layers.Layer):
  def __init__(self, num_classes):
    super().__init__()
    self._num_classes = num_classes

  def call(self, images):
    number = tf.shape(images)[0]
    logits = tf.zeros([number, self._num_classes])
    if tf.reduce_mean(images) > 100.0:
      logits += tf.one_hot(
        tf.zeros([number], tf.int32), self._num_classes, 50.0
      )
    return logits


class SavedModelTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.path = pathlib.Path(self.create_tempdir().full_path) / 'export'

  def _export(self, model, **options):
    saved_model.export_saved_model(model, _NAMES, self.path, **options)
    return tf.saved_model.load(str(self.path)).signatures['serving_default']

  def test_gives_probabilities_and_names_for_any_batch(self):
    self._check_names((8, 12, 3), keras_conversion.to_static_batch_norm)

  @parameterized.named_parameters(
    ('of_gray_images', (8, 8, 1), keras_conversion.to_static_batch_norm),
    ('with_group_normalization', (8, 8, 3), zhang2020_networks.to_group_norm),
  )
  @pytest.mark.slow
  def test_gives_probabilities_and_names(self, shape, create):
    self._check_names(shape, create)

  def _check_names(self, shape, create):
    model = small_model.create(shape, create)
    serve = self._export(model)
    for batch in (1, 50):
      images = small_model.random_images(batch, shape)
      outputs = serve(images=tf.constant(images))
      expected = small_model.probabilities(model, images)
      np.testing.assert_allclose(outputs['probabilities'], expected, atol=1e-5)
      self.assertEqual(
        [name.decode() for name in outputs['class_name'].numpy()],
        [_NAMES[index] for index in expected.argmax(axis=1)],
      )
    # The predictions above have all three classes.
    self.assertLen(set(expected.argmax(axis=1)), 3)

  def test_layer_with_an_if_on_a_tensor(self):
    serve = self._export(
      tf.keras.Sequential(
        [
          tf.keras.Input((8, 8, 1)),
          _OneHotIfBright(len(_NAMES)),
        ]
      )
    )
    for level, expected in ((0, [1 / 3] * 3), (255, [1.0, 0.0, 0.0])):
      images = tf.fill([1, 8, 8, 1], tf.constant(level, tf.uint8))
      np.testing.assert_allclose(
        serve(images=images)['probabilities'], [expected], atol=1e-5
      )

  @pytest.mark.slow
  def test_a_process_without_tff_can_load_it(self):
    model = small_model.create()
    self._export(model)
    images = small_model.random_images(2, (8, 8, 1))
    file = self.path.with_name('images.npy')
    np.save(file, images)
    probabilities, names = json.loads(
      subprocess.check_output(
        [sys.executable, '-c', _LOAD, self.path, file], timeout=100
      )
    )
    expected = small_model.probabilities(model, images)
    np.testing.assert_allclose(probabilities, expected, atol=1e-5)
    self.assertEqual(names, [_NAMES[i] for i in expected.argmax(axis=1)])

  def test_model_that_was_saved_wrongly_is_an_error(self):
    with (
      mock.patch.object(
        exported_model,
        'SavedModel',
        return_value=mock.Mock(
          predict=lambda images: np.full([len(images), 3], 1 / 3)
        ),
      ),
      self.assertRaisesRegex(
        saved_model.ExportError, 'saved and the trained model differ'
      ),
    ):
      self._export(small_model.create())


if __name__ == '__main__':
  absltest.main()
