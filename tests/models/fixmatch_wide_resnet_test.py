# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of FixMatch's WideResNet against a second network (B.6)."""

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import tensorflow as tf

from tests.models import residual_reference
from tff_semifl.models import static_batch_norm
from tff_semifl.models import wide_resnet


def _create(**changes):
  arguments = {'depth': 10, 'width': 1, 'num_groups': 3, 'seed': 1} | changes
  return wide_resnet.create_fixmatch_wide_resnet((16, 16, 3), 4, **arguments)


def _convolve(x, kernel, bias, stride=1):
  return tf.nn.conv2d(x, kernel, stride, 'SAME') + bias


def _activate(x, gamma, beta):
  mean, variance = (np.mean(x, axis=(0, 1, 2)), np.var(x, axis=(0, 1, 2)))
  x = (x - mean) / np.sqrt(variance + 1e-3) * gamma + beta
  return np.where(x > 0, x, 0.1 * x)


def _forward(model, images):
  """Computes logits in training mode, one block in each of three groups."""
  convolutions, norms, dense = (
    iter(
      [w.numpy().astype(np.float64) for w in layer.trainable_weights]
      for layer in residual_reference.in_order_of_creation(model, kind)
    )
    for kind in (
      tf.keras.layers.Conv2D,
      static_batch_norm.StaticBatchNormalization,
      tf.keras.layers.Dense,
    )
  )
  x = _convolve(images / 127.5 - 1, *next(convolutions))
  for group in range(3):
    stride = 2 if group else 1
    h = _activate(x, *next(norms))
    # In the first block of all the shortcut is activated.
    shortcut = x if group else h
    h = _convolve(h, *next(convolutions), stride)
    h = _convolve(_activate(h, *next(norms)), *next(convolutions))
    if shortcut.shape[-1] != h.shape[-1]:
      shortcut = _convolve(shortcut, *next(convolutions), stride)
    x = shortcut + h
  x = np.mean(_activate(x, *next(norms)), axis=(1, 2))
  [(kernel, bias)] = dense
  return x @ kernel + bias


class FixMatchWideResNetTest(parameterized.TestCase):
  @parameterized.parameters(1, 2)
  def test_equals_a_second_network(self, width):
    # With 16 channels the first block has no projection.
    model = _create(width=width)
    generator = np.random.default_rng(0)
    for weight in model.trainable_weights:
      if 'kernel' not in weight.name:
        weight.assign(generator.normal(1, 0.3, weight.shape))
    images = generator.uniform(0, 255, size=(5, 16, 16, 3))
    np.testing.assert_allclose(
      model(images.astype(np.float32), training=True),
      _forward(model, images),
      rtol=1e-3,
      atol=1e-4,
    )

  def test_kernels_start_by_outputs_and_biases_at_0(self):
    model = _create(width=8)
    for weight in model.trainable_weights:
      values = weight.numpy()
      if values.ndim == 4 and values.size > 10_000:
        size, _, _, outputs = values.shape
        np.testing.assert_allclose(
          np.std(values), np.sqrt(2 / (size**2 * outputs)), rtol=0.05
        )
      elif 'bias' in weight.name:
        np.testing.assert_array_equal(values, np.zeros_like(values))


if __name__ == '__main__':
  absltest.main()
