# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of temperature scaling."""

from absl.testing import parameterized
import numpy as np
import tensorflow as tf

from tests.export import small_model
from tff_semifl.export import temperature as temperature_lib


def _draw(scale):
  """Labels that are drawn from a softmax, and its logits times a number."""
  generator = np.random.default_rng(0)
  logits = generator.normal(0, 2, size=[20_000, 3])
  gumbel = generator.gumbel(size=logits.shape)
  return (logits + gumbel).argmax(axis=1), scale * logits


class TemperatureTest(parameterized.TestCase):
  @parameterized.parameters(0.25, 4.0)
  def test_finds_what_logits_were_multiplied_by(self, scale):
    found = temperature_lib.fit(*_draw(scale))
    self.assertAlmostEqual(found.value, scale, delta=0.03 * scale)
    self.assertLessEqual(found.nll_after, found.nll_before)
    self.assertEqual(found.num_images, 20_000)

  def test_is_a_minimum(self):
    labels, logits = _draw(2.0)
    found = temperature_lib.fit(labels[:50], logits[:50])
    at = [
      temperature_lib.metric.nll(
        labels[:50], logits[:50] / (factor * found.value)
      )
      for factor in (0.99, 1, 1.01)
    ]
    self.assertEqual(at.index(min(at)), 1)
    self.assertAlmostEqual(at[1], found.nll_after)

  def test_computes_in_float64(self):
    labels, logits = _draw(2.0)
    logits = logits.astype(np.float32)
    self.assertEqual(
      temperature_lib.fit(labels, logits),
      temperature_lib.fit(labels, logits.astype(np.float64)),
    )

  @parameterized.named_parameters(
    ('all_are_right', [0, 1, 2], np.eye(3)),
    # In floating point, their likelihood is 1 from some temperature on.
    ('all_are_right_by_far', np.arange(48) % 20, 9 * np.eye(20)),
    (
      'all_are_wrong',
      [1, 2, 0],
      np.eye(3) + [[0, 0.5, 0], [0, 0, 0.5], [0.5, 0, 0]],
    ),
    ('one_class', [1, 1, 1], np.eye(3)),
    ('worse_than_chance', [0, 0, 1], [[1, 0, 0], [0, 5, 4], [5, 0, 4]]),
  )
  def test_images_that_tell_nothing(self, labels, logits):
    labels = np.array(labels)
    logits = np.asarray(logits, np.float32)[
      np.arange(len(labels)) % len(logits)
    ]
    with self.assertRaisesRegex(
      ValueError, f'^{len(labels)} validation images do not tell'
    ):
      temperature_lib.fit(labels, logits)

  def test_model_has_the_same_classes_and_scaled_logits(self):
    model = small_model.create()
    images = small_model.random_images(9, (8, 8, 1)).astype(np.float32)
    scaled = temperature_lib.apply(
      model, temperature_lib.Temperature(2.0, 1, 0.0, 0.0)
    )
    np.testing.assert_allclose(scaled(images), model(images) / 2, rtol=1e-5)
    self.assertEqual(scaled.name, model.name)
    self.assertLen(scaled.weights, len(model.weights))


if __name__ == '__main__':
  tf.test.main()
