# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of the common interface of exported models."""

import pathlib
import tempfile
import zipfile

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import pytest
import tensorflow as tf

from tests.export import small_model
from tff_semifl.data import pixels
from tff_semifl.export import exported_model
from tff_semifl.export import saved_model
from tff_semifl.export import tflite

_SHAPE = (8, 12, 1)


class ExportedModelTest(parameterized.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls._model = small_model.create(_SHAPE)
    cls._folder = pathlib.Path(
      tempfile.mkdtemp(dir=absltest.get_default_test_tmpdir())
    )
    saved_model.export_saved_model(
      cls._model,
      small_model.CLASS_NAMES,
      cls._folder / 'export',
    )
    (cls._folder / 'model.tflite').write_bytes(
      tflite.convert(
        cls._model,
        small_model.CLASS_NAMES,
        tflite.Precision.FLOAT32,
      )
    )

  @parameterized.parameters('export', 'model.tflite')
  @pytest.mark.slow
  def test_predicts_images_of_any_size(self, name):
    model = tflite.load(self._folder / name)
    self.assertEqual(model.class_names, small_model.CLASS_NAMES)
    self.assertEqual(model.image_shape, _SHAPE)
    for num_images, shape in ((1, _SHAPE), (5, _SHAPE), (3, (30, 20, 1))):
      images = small_model.random_images(num_images, shape)
      fitted = pixels.fit_to_size(tf.constant(images), 8, 12).numpy()
      found = model.predict(images)
      self.assertEqual(found.dtype, np.float32)
      np.testing.assert_allclose(
        found,
        small_model.probabilities(self._model, fitted),
        atol=1e-5,
      )

  def _assert_refused(self, name, message):
    with self.assertRaisesRegex(
      exported_model.ExportedModelError, f'/{name} {message}'
    ) as raised:
      tflite.load(self._folder / name)
    self.assertNotIn('\n', str(raised.exception))

  @pytest.mark.slow
  def test_what_is_no_model(self):
    self._assert_refused('nothing', 'is missing')
    (self._folder / 'empty').mkdir()
    self._assert_refused('empty', 'has no SavedModel that can be loaded')
    content = (self._folder / 'model.tflite').read_bytes()
    for name, part in (
      ('text.tflite', b'text, and more of it'),
      ('half.tflite', content[: len(content) // 2]),
      ('last_byte.tflite', content[:-1]),
    ):
      (self._folder / name).write_bytes(part)
      self._assert_refused(name, 'is no TFLite model of .* or not all of it')
    with zipfile.ZipFile(self._folder / 'zip.tflite', 'w') as archive:
      archive.writestr('labels.txt', 'cat')
    self._assert_refused('zip.tflite', r'is no TFLite model \(')

  @pytest.mark.slow
  def test_models_of_others(self):
    module = tf.Module()
    module.double = tf.function(
      lambda x: {'y': 2 * x}, input_signature=[tf.TensorSpec([3], tf.float32)]
    )
    path = str(self._folder / 'other')
    tf.saved_model.save(module, path, signatures=module.double)
    self._assert_refused('other', 'is another SavedModel, or an old one')
    converter = tf.lite.TFLiteConverter.from_saved_model(path)
    (self._folder / 'other.tflite').write_bytes(converter.convert())
    self._assert_refused('other.tflite', 'is no TFLite model of this')


if __name__ == '__main__':
  absltest.main()
