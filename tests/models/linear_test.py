# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of the linear classifier."""

from absl.testing import parameterized
import numpy as np
import tensorflow as tf

from tff_semifl.models import features
from tff_semifl.models import functional


class CreateLinearTest(parameterized.TestCase, tf.test.TestCase):
  @parameterized.parameters(((5,), 5), ((4, 3, 2), 2))
  def test_is_affine_in_standardized_inputs(self, shape, num_scales):
    generator = np.random.default_rng(0)
    mean = generator.normal(size=num_scales)
    deviation = generator.uniform(1, 9, num_scales)
    model = features.create_linear(
      shape, 3, mean=mean.tolist(), standard_deviation=deviation.tolist()
    )
    inputs = generator.normal(size=(6, *shape)).astype(np.float32)
    # Initial logits are equal for all classes.
    self.assertAllEqual(model(inputs), np.zeros((6, 3)))
    size = int(np.prod(shape))
    self.assertEqual(model.count_params(), (size + 1) * 3)
    kernel, bias = generator.normal(size=(size, 3)), generator.normal(size=3)
    model.set_weights([kernel, bias])
    flat = ((inputs - mean) / deviation).reshape(6, -1)
    self.assertAllClose(model(inputs), flat @ kernel + bias, atol=1e-4)

    classifier = functional.from_keras(model)
    self.assertEqual(classifier.image_shape, shape)
    self.assertAllClose(
      classifier.logits(classifier.initial_weights, inputs), model(inputs)
    )


if __name__ == '__main__':
  tf.test.main()
