# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of the code in docs/serving.md."""

import base64
import json
import pathlib
import re
import tempfile

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import PIL.Image
import pytest
import tensorflow as tf

from tests.export import small_model
from tests.repository import source_tree
from tff_semifl.data import image_files
from tff_semifl.export import saved_model
from tff_semifl.export import tflite
from tff_semifl.label_shift import input_shift
from tff_semifl.label_shift import share_prior

_PAGE = source_tree.PROJECT_ROOT / 'docs' / 'serving.md'


def _export(shape):
  path = pathlib.Path(tempfile.mkdtemp(dir=absltest.get_default_test_tmpdir()))
  model = small_model.create(shape)
  saved_model.export_saved_model(model, small_model.CLASS_NAMES, path)
  return path


def _recipe(name):
  """The code block of the page that begins with a given comment."""
  (found,) = re.findall(
    rf'\n\n((?:    .*\n|\n)*?    # {name}\n(?:    .*\n|\n(?=    ))+)',
    _PAGE.read_text(),
  )
  return '\n'.join(line.removeprefix('    ') for line in found.splitlines())


def _decode_as_tensorflow_serving(body):
  """Decodes the signature and inputs of a TensorFlow Serving request."""
  request = json.loads(body)
  rows = [base64.b64decode(row.pop('b64')) for row in request['instances']]
  return request['signature_name'], tf.constant(rows)


class ServingTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self._folder = pathlib.Path(self.create_tempdir().full_path)

  def _write(self, name, size, seed):
    """Writes an image of large spots, like a photo."""
    generator = np.random.default_rng(seed)
    small = generator.integers(256, size=(5, 5, 3), dtype=np.uint8)
    path = self._folder / name
    PIL.Image.fromarray(small).resize(size).save(path)
    return path

  @pytest.mark.slow
  def test_body_for_tensorflow_serving(self):
    path = _export((8, 12, 3))
    first = self._write('first.png', (30, 20), 1)
    second = self._write('second.jpg', (16, 16), 2)
    scope = {'files': [first, second]}
    exec(_recipe('The body of a request'), scope)
    name, rows = _decode_as_tensorflow_serving(scope['body'])
    found = tf.saved_model.load(str(path)).signatures[name](image_bytes=rows)
    model = tflite.load(path)
    for probabilities, file, tolerance in zip(
      found['probabilities'], (first, second), (1e-5, 1e-3), strict=True
    ):
      image = image_files.read_image_of_any_size(file, 3)
      np.testing.assert_allclose(
        probabilities, model.predict(image[np.newaxis])[0], atol=tolerance
      )

  def test_function_of_images(self):
    path = _export((8, 12, 3))
    images = small_model.random_images(5, (20, 30, 3))
    scope = {'path': str(path), 'images': images}
    exec(_recipe('In Python'), scope)
    np.testing.assert_array_equal(
      scope['outputs']['probabilities'],
      tflite.load(path).predict(images),
    )

  def test_how_foreign_images_are(self):
    entropies = tuple(np.linspace(0, 0.8, 101))
    prior = share_prior.SharePrior((0.5, 0.5), 1.0, 1.0, 0.6)
    content = prior._replace(entropies=entropies).to_json()
    (self._folder / share_prior.NAME).write_text(content)
    probabilities = np.array([[1.0, 0.0], [0.8, 0.2], [0.5, 0.5]])
    scope = {'path': self._folder, 'probabilities': probabilities}
    exec(_recipe('Where there is NumPy'), scope)
    np.testing.assert_allclose(
      scope['foreign'],
      input_shift.measure_foreignness(probabilities, entropies),
    )
    self.assertEqual(scope['foreign'][2], 1)

  @pytest.mark.slow
  def test_layer_of_a_keras_model(self):
    path = _export((8, 12, 3))
    scope = {'path': str(path)}
    exec(_recipe('A Keras model'), scope)
    images = small_model.random_images(5, (20, 30, 3))
    np.testing.assert_allclose(
      scope['model'].predict(images, verbose=0),
      tflite.load(path).predict(images),
      atol=1e-6,
    )


if __name__ == '__main__':
  absltest.main()
