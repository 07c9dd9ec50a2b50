# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests that an exported model gets the same pixels as training."""

import pathlib
import tempfile

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import PIL.Image
from sklearn import datasets
import tensorflow as tf

from tff_semifl.data import image_files
from tff_semifl.export import exported_model
from tff_semifl.export import saved_model
from tff_semifl.export import tflite

_NUM_PHOTOS = 48
_SHAPE = (8, 10, 3)
# In logits, one gray level changes a probability by 1.5%.
_SCALE = 1 / 64


def _write_photos(folder):
  """Writes parts of two photos of different sizes; half are JPEG, half PNG."""
  generator = np.random.default_rng(0)
  photos = datasets.load_sample_images().images
  files = []
  for number in range(_NUM_PHOTOS):
    photo = photos[number % 2]
    height, width = generator.integers(5, 150, size=2)
    top = generator.integers(photo.shape[0] - height)
    left = generator.integers(photo.shape[1] - width)
    image = PIL.Image.fromarray(photo[top : top + height, left : left + width])
    files.append(folder / f'{number}.{("png", "jpg")[number // 2 % 2]}')
    image.save(files[-1])
  return files


class SamePixelsTest(parameterized.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    folder = pathlib.Path(
      tempfile.mkdtemp(dir=absltest.get_default_test_tmpdir())
    )
    cls._files = _write_photos(folder)
    cls._seen_in_training = np.stack(
      [image_files.read_image(file, _SHAPE)[0] for file in cls._files]
    )
    cls._model = tf.keras.Sequential(
      [
        tf.keras.layers.Flatten(input_shape=_SHAPE),
        tf.keras.layers.Rescaling(_SCALE),
      ]
    )
    names = [str(number) for number in range(np.prod(_SHAPE))]
    cls._folder = folder / 'export'
    saved_model.export_saved_model(cls._model, names, cls._folder)
    (folder / 'model.tflite').write_bytes(
      tflite.convert(cls._model, names, tflite.Precision.FLOAT32)
    )
    cls._tflite = folder / 'model.tflite'

  def _assert_same_pixels(self, probabilities):
    # Differences between logarithms of probabilities are differences of pixels.
    found = np.log(probabilities.astype(np.float64)) / _SCALE
    expected = self._seen_in_training.reshape(found.shape).astype(np.float64)
    np.testing.assert_allclose(
      found - found.mean(axis=1, keepdims=True),
      expected - expected.mean(axis=1, keepdims=True),
      rtol=0,
      atol=0.05,
    )

  @parameterized.parameters('_folder', '_tflite')
  def test_of_images(self, model):
    loaded = tflite.load(getattr(self, model))
    found = [
      loaded.predict(image_files.read_image_of_any_size(file, 3)[np.newaxis])[0]
      for file in self._files
    ]
    self._assert_same_pixels(np.stack(found))

  def test_of_encoded_files(self):
    serve = tf.saved_model.load(str(self._folder)).signatures[
      exported_model.SERVING_ENCODED
    ]
    content = tf.constant([file.read_bytes() for file in self._files])
    self._assert_same_pixels(
      serve(image_bytes=content)['probabilities'].numpy()
    )


if __name__ == '__main__':
  absltest.main()
