# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of the kinds of examples, by shape, and of computations on each."""

from absl.testing import parameterized
import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

from tff_semifl.baselines.fedsgd import union_images
from tff_semifl.data import example_kinds
from tff_semifl.data import mapped_images
from tff_semifl.data import pipelines
from tff_semifl.data import sources
from tff_semifl.data import stored_images

_FEATURES = np.random.default_rng(0).standard_normal((7, 5), np.float32)
_LABELS = np.arange(7, dtype=np.int32) % 3


class ExampleKindsTest(parameterized.TestCase, tf.test.TestCase):
  @parameterized.parameters(
    ((8, 6, 3), example_kinds.IMAGES, np.uint8),
    ((5,), example_kinds.FEATURES, np.float32),
  )
  def test_follows_from_the_shape(self, shape, kind, dtype):
    self.assertIs(example_kinds.kind_of(shape), kind)
    noise = kind.draw_noise(np.random.default_rng(0), (4, *shape))
    self.assertEqual(noise.shape, (4, *shape))
    self.assertEqual(noise.dtype, dtype)

  @parameterized.parameters((), (4, 5))
  def test_others_are_refused(self, *shape):
    with self.assertRaisesRegex(
      ValueError, r'found examples of shape \(.*give'
    ):
      example_kinds.kind_of(shape)


class FeaturesInComputationsTest(tf.test.TestCase):
  def test_types_have_the_dtype_and_shape_of_the_vectors(self):
    data = sources.LabeledImages(_FEATURES, _LABELS)
    for dataset in (
      pipelines.labeled_dataset(data),
      pipelines.batched_dataset(data, 3),
    ):
      self.assertTrue(
        pipelines.labeled_type((5,)).is_assignable_from(
          tff.SequenceType(tff.types.tensorflow_to_type(dataset.element_spec))
        )
      )
    (chunk,) = pipelines.labeled_dataset(data).as_numpy_iterator()
    self.assertAllEqual(chunk['image'], _FEATURES)
    self.assertEqual(
      str(pipelines.client_type((5,))), '<client_id=int32,image=float32[?,5]>*'
    )
    self.assertEqual(
      str(pipelines.client_type((4, 5, 3))),
      '<client_id=int32,image=uint8[?,4,5,3]>*',
    )

  def test_clients_have_theirs_and_can_hand_them_over(self):
    population = pipelines.ClientPopulation(
      sources.ImagePool(_FEATURES, _LABELS),
      [np.array([4, 0]), np.array([1, 2, 6])],
      clients_per_round=2,
      seed=0,
    )
    gathered = union_images.build_gathering((5,))(population.datasets(1))
    self.assertAllEqual(gathered.image, _FEATURES[[4, 0, 1, 2, 6]])

  def test_read_by_index_and_from_a_file(self):
    mapped = mapped_images.MappedImages(
      [sources.LabeledImages(_FEATURES, _LABELS)]
    )
    found = mapped.read(tf.constant([6, 0], tf.int64))
    self.assertEqual(found.dtype, tf.float32)
    self.assertAllEqual(found, _FEATURES[[6, 0]])

    stored = stored_images.create(_FEATURES.shape)
    for number, vector in enumerate(_FEATURES):
      stored[number] = vector
    self.assertEqual(stored.dtype, np.float32)
    self.assertAllEqual(np.asarray(stored[[5, 1]]), _FEATURES[[5, 1]])

  def test_equal_ones_have_equal_hashes(self):
    hashes = sources.hash_images(_FEATURES[[3, 1, 3]])
    self.assertEqual(hashes[0], hashes[2])
    self.assertNotEqual(hashes[0], hashes[1])


if __name__ == '__main__':
  tf.test.main()
