# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of the outputs and operations of TFLite models."""

import contextlib
import io
import zipfile

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import pytest
import tensorflow as tf

from tests.export import small_model
from tff_semifl.export import tflite
from tff_semifl.models import zhang2020_networks

_SHAPE = (8, 8, 3)
_CALIBRATION = small_model.random_images(200, _SHAPE)


def _convert(model, precision):
  return tflite.convert(model, small_model.CLASS_NAMES, precision, _CALIBRATION)


def _interpret(content):
  interpreter = tf.lite.Interpreter(model_content=content)
  interpreter.allocate_tensors()
  return interpreter


def _predict(content, images):
  interpreter = _interpret(content)
  (details,) = interpreter.get_input_details()
  (output,) = interpreter.get_output_details()
  found = []
  for image in images:
    interpreter.set_tensor(details['index'], image[np.newaxis])
    interpreter.invoke()
    found.append(interpreter.get_tensor(output['index'])[0])
  return np.array(found)


def _operations(content):
  """TFLite's analysis of a model, which names operations."""
  output = io.StringIO()
  with contextlib.redirect_stdout(output):
    tf.lite.experimental.Analyzer.analyze(model_content=content)
  return output.getvalue()


class Float16Test(absltest.TestCase):
  def test_weights_are_of_the_precision(self):
    content = _convert(small_model.create(_SHAPE), tflite.Precision.FLOAT16)
    details = _interpret(content).get_tensor_details()
    self.assertIn(np.float16, {each['dtype'] for each in details})


@pytest.mark.slow
class TFLiteTest(parameterized.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls._model = small_model.create(_SHAPE)
    cls._contents = {
      precision: _convert(cls._model, precision)
      for precision in tflite.Precision
    }

  # The mantissas have 24 and 11 bits; quantized values have 8 bits in all.
  @parameterized.parameters(
    (tflite.Precision.FLOAT32, 1e-5),
    (tflite.Precision.FLOAT16, 5e-3),
    (tflite.Precision.INT8, 0.1),
  )
  def test_computes_what_the_model_does(self, precision, tolerance):
    content = self._contents[precision]
    interpreter = _interpret(content)
    (details,) = interpreter.get_input_details()
    (output,) = interpreter.get_output_details()
    self.assertEqual(details['dtype'], np.uint8)
    self.assertEqual(details['shape'].tolist(), [1, *_SHAPE])
    self.assertEqual(output['dtype'], np.float32)
    self.assertEqual(output['shape'].tolist(), [1, 3])
    self._assert_same_answers(self._model, content, tolerance)

  @parameterized.parameters(
    (tflite.Precision.FLOAT32, 1e-4), (tflite.Precision.FLOAT16, 2e-2)
  )
  def test_group_normalization(self, precision, tolerance):
    model = small_model.create(_SHAPE, zhang2020_networks.to_group_norm)
    self._assert_same_answers(model, _convert(model, precision), tolerance)

  def _assert_same_answers(self, model, content, tolerance):
    images = small_model.random_images(50, _SHAPE)
    expected = small_model.probabilities(model, images)
    np.testing.assert_allclose(
      _predict(content, images), expected, atol=tolerance
    )
    # A constant output would fail.
    self.assertGreater(np.ptp(expected[:, 0]), 0.5)
    operations = _operations(content)
    self.assertIn('CONV_2D', operations)
    for other in ('Flex', 'CUSTOM'):
      self.assertNotIn(other, operations)

  def test_group_normalization_is_not_for_integers(self):
    model = small_model.create(_SHAPE, zhang2020_networks.to_group_norm)
    with self.assertRaisesRegex(ValueError, 'needs more than the 8 bits'):
      _convert(model, tflite.Precision.INT8)

  def test_gray_levels_are_the_integers_of_the_input(self):
    # Calibration images may have any levels.
    calibration = np.clip(_CALIBRATION, 50, 100)
    content = tflite.convert(
      self._model, small_model.CLASS_NAMES, tflite.Precision.INT8, calibration
    )
    (details,) = _interpret(content).get_input_details()
    self.assertEqual(details['quantization'], (1.0, 0))
    self.assertEqual(calibration.min(), 50)

  @parameterized.parameters(*tflite.Precision)
  def test_names_are_packed_into_the_file(self, precision):
    with zipfile.ZipFile(io.BytesIO(self._contents[precision])) as archive:
      self.assertEqual(archive.namelist(), ['labels.txt'])
      self.assertEqual(archive.read('labels.txt'), b'cat\ndog\ngreat owl')


if __name__ == '__main__':
  absltest.main()
