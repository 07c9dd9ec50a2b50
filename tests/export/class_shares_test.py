# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of exported models that adapt to the class shares of a site."""

import math
import pathlib
import tempfile

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import tensorflow as tf

from tests.export import brightness_model
from tff_semifl.export import tflite
from tff_semifl.label_shift import input_shift
from tff_semifl.label_shift import share_prior

_PRIOR = share_prior.SharePrior((0.5, 0.5), 1.0, 1.4, 0.6)
_LEVELS = np.array([100, 140, 150, 200], np.uint8)
_IMAGES = np.tile(_LEVELS[:, None, None, None], [1, 20, 20, 3])


def _with_shares(share_of_dog: float) -> np.ndarray:
  """The probabilities of dogs by Bayes' rule."""
  odds = [
    (p / (1 - p)) ** (1 / _PRIOR.temperature)
    * share_of_dog
    / (1 - share_of_dog)
    for p in map(brightness_model.probability_of_dog, _LEVELS)
  ]
  return np.array([each / (1 + each) for each in odds])


class ClassSharesTest(parameterized.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls._folder = pathlib.Path(
      tempfile.mkdtemp(dir=absltest.get_default_test_tmpdir())
    )
    cls._paths = brightness_model.export(cls._folder, prior=_PRIOR)
    cls._signatures = tf.saved_model.load(cls._paths['saved_model']).signatures

  def test_serving_with_shares_is_by_bayes_rule(self):
    found = self._signatures['serving_with_shares'](
      images=tf.constant(_IMAGES), class_shares=tf.constant([1.0, 9.0])
    )
    np.testing.assert_allclose(
      found['probabilities'][:, 1], _with_shares(0.9), atol=1e-4
    )
    self.assertEqual(found['class_name'][1], b'dog')

  @parameterized.parameters([[math.nan, 1.0]], [[-0.1, 1.1]], [[0.0, 0.0]])
  def test_what_is_no_share_is_an_error_of_serving(self, shares):
    with self.assertRaisesRegex(tf.errors.InvalidArgumentError, 'class_shares'):
      self._signatures['serving_with_shares'](
        images=tf.constant(_IMAGES), class_shares=tf.constant(shares)
      )

  def test_shares_are_estimated_from_images_of_a_site(self):
    dark = tf.constant(np.full([40, 16, 16, 3], 60, np.uint8))
    found = self._signatures['estimate_shares'](images=dark)
    # The mean of the Dirichlet posterior after 40 confident images.
    np.testing.assert_allclose(
      found['class_shares'], [40.5 / 41, 0.5 / 41], atol=5e-3
    )
    self.assertGreater(found['evidence'], 10)
    self.assertLess(found['deviations'][0], 0.05)

  @parameterized.parameters('saved_model', 'tflite')
  def test_prior_travels_with_models(self, kind):
    model = tflite.load(pathlib.Path(self._paths[kind]))
    self.assertEqual(model.prior, _PRIOR)

  def test_tflite_takes_shares(self):
    model = tflite.take_shares(brightness_model.create(), _PRIOR)
    content = tflite.convert(
      model,
      brightness_model.CLASS_NAMES,
      tflite.Precision.FLOAT16,
      prior=_PRIOR,
    )
    path = self._folder / 'shares.tflite'
    path.write_bytes(content)
    interpreter = tf.lite.Interpreter(model_content=content)
    runner = interpreter.get_signature_runner()
    for image, expected in zip(_IMAGES, _with_shares(0.9), strict=True):
      found = runner(
        images=image[np.newaxis, :16, :16],
        class_shares=np.array([[0.1, 0.9]], np.float32),
      )
      self.assertAlmostEqual(found['probabilities'][0, 1], expected, delta=0.02)
    loaded = tflite.load(path)
    np.testing.assert_allclose(
      loaded.predict(_IMAGES)[:, 1], _with_shares(0.5), atol=0.02
    )
    self.assertEqual(loaded.prior.temperature, 1)
    with self.assertRaisesRegex(ValueError, 'float16 will do'):
      tflite.check_is_for_integers(model)

  @parameterized.parameters(9, 40)
  def test_prior_of_features_knows_nothing_of_pixels(self, size):
    inputs = input_shift.InputMoments(*([0.0] * size for _ in range(3)))
    paths = brightness_model.export(
      pathlib.Path(self.create_tempdir().full_path),
      prior=_PRIOR._replace(inputs=inputs),
    )
    signatures = tf.saved_model.load(paths['saved_model']).signatures
    found = signatures['estimate_shares'](images=tf.constant(_IMAGES))
    self.assertEqual('shift' in found, size == 9)
    for path in paths.values():
      prior = tflite.load(pathlib.Path(path)).prior
      self.assertEqual(prior.inputs is not None, size == 9)

  def test_alike_clients_have_the_global_model(self):
    prior = _PRIOR._replace(strength=math.inf, temperature=1.0)
    paths = brightness_model.export(
      pathlib.Path(self.create_tempdir().full_path), prior=prior
    )
    signatures = tf.saved_model.load(paths['saved_model']).signatures
    images = tf.constant(_IMAGES)
    shares = signatures['estimate_shares'](images=images)['class_shares']
    np.testing.assert_allclose(
      signatures['serving_with_shares'](images=images, class_shares=shares)[
        'probabilities'
      ],
      signatures['serving_default'](images=images)['probabilities'],
      atol=1e-6,
    )


if __name__ == '__main__':
  absltest.main()
