# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of the pass that sums the evidence of all clients."""

import collections

from absl.testing import absltest
import numpy as np
import tensorflow as tf

from tests import simulation_test_case
from tff_semifl.experiment import site_shares
from tff_semifl.label_shift import share_prior
from tff_semifl.models import functional


def _chunks(client, *images):
  """A dataset of `pipelines.client_type`, with a chunk for each array."""
  spec = collections.OrderedDict(
    client_id=tf.TensorSpec([], tf.int32),
    image=tf.TensorSpec([None, 4], tf.float32),
  )
  return tf.data.Dataset.from_generator(
    lambda: (
      collections.OrderedDict(client_id=client, image=each) for each in images
    ),
    output_signature=spec,
  )


class FederatedPriorTest(simulation_test_case.SimulationTestCase):
  def test_evidence_is_the_sum_over_clients(self):
    tf.keras.utils.set_random_seed(0)
    inputs = tf.keras.Input([4])
    classifier = functional.from_keras(
      tf.keras.Model(inputs, tf.keras.layers.Dense(3)(inputs))
    )
    compute = site_shares.build_evidence(classifier)
    self.assertEqual(
      compute.type_signature.compact_representation(),
      '(<weights=<trainable=<float32[4,3],float32[3]>,non_trainable=<>>@SERVER,'
      'mean_shares=float32[3]@SERVER,'
      'dataset={<client_id=int32,image=float32[?,4]>*}@CLIENTS> ->'
      ' <evidence=<evidence=float32[8,13],num_images=float32,'
      'num_clients=float32>,inputs=<mean=float64[4],squared_mean=float64[4],'
      'variance=float64[4]>,entropies=float32[512]>@SERVER)',
    )
    draw = np.random.default_rng(0).normal
    first, second, third = (
      draw(size=[n, 4]).astype(np.float32) for n in (300, 7, 20)
    )
    mean = np.array([0.2, 0.3, 0.5], np.float32)
    weights = classifier.initial_weights
    total = compute(
      weights,
      mean,
      [_chunks(0, first, second), _chunks(1, third), _chunks(2)],
    )
    clients = np.concatenate([first, second]), third
    expected = [
      tf.function(share_prior.measure)(
        classifier.logits(weights, tf.constant(images)), tf.constant(mean)
      )
      for images in clients
    ]
    for name, found, *each in zip(
      share_prior.Evidence._fields, total.evidence, *expected, strict=True
    ):
      np.testing.assert_allclose(
        found, sum(each), rtol=1e-4, atol=1e-3, err_msg=name
      )
    means = [images.mean(axis=0, dtype=np.float64) for images in clients]
    np.testing.assert_allclose(total.inputs.mean, sum(means))
    np.testing.assert_allclose(
      total.inputs.squared_mean, sum(each**2 for each in means)
    )
    np.testing.assert_allclose(
      total.inputs.variance,
      sum(images.var(axis=0, dtype=np.float64) for images in clients),
    )
    self.assertEqual(np.sum(total.entropies), 327)


if __name__ == '__main__':
  absltest.main()
