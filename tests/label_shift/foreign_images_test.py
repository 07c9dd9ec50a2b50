# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of the share of images in training that are less foreign."""

from absl.testing import absltest
import numpy as np
from scipy import special
import tensorflow as tf

from tff_semifl.label_shift import input_shift


def _draw(num_images, num_classes, scale, rng):
  return (scale * rng.normal(size=[num_images, num_classes])).astype(np.float32)


class ForeignImagesTest(absltest.TestCase):
  def test_is_the_share_of_images_with_less_entropy(self):
    rng = np.random.default_rng(0)
    for num_classes, scale in ((2, 1.0), (10, 3.0), (100, 5.0)):
      logits = _draw(2000, num_classes, scale, rng)
      quantiles = input_shift.find_entropy_quantiles(
        input_shift.count_entropies(tf.constant(logits[:700])).numpy()
        + input_shift.count_entropies(tf.constant(logits[700:])).numpy()
      )
      new = _draw(50, num_classes, 0.7 * scale, rng)
      found = input_shift.measure_foreignness(
        special.softmax(new, axis=1), quantiles
      )
      entropy, of_new = (
        special.entr(special.softmax(each, axis=1)).sum(axis=1)
        for each in (logits, new)
      )
      expected = np.mean(entropy < of_new[:, np.newaxis], axis=1)
      np.testing.assert_allclose(found, expected, atol=0.03)

  def test_equal_probabilities_are_most_foreign(self):
    rng = np.random.default_rng(0)
    quantiles = input_shift.find_entropy_quantiles(
      input_shift.count_entropies(tf.constant(_draw(99, 5, 4.0, rng))).numpy()
    )
    found = input_shift.measure_foreignness(
      np.array([[0.2] * 5, [1, 0, 0, 0, 0]]), quantiles
    )
    np.testing.assert_allclose(found, [1, 0], atol=0.01)


if __name__ == '__main__':
  absltest.main()
