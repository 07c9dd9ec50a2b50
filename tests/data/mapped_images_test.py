# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests for images that are passed by reference."""

import os
import pathlib

from absl.testing import parameterized
import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

from tff_semifl import runtime
from tff_semifl.data import mapped_images
from tff_semifl.data import pipelines
from tff_semifl.data import sources

_SHAPE = (2, 3, 1)


def _create_data(num_images, shape=_SHAPE):
  """Returns images of noise, with labels 0 to 4."""
  images = np.random.default_rng(num_images).integers(
    256, size=(num_images, *shape), dtype=np.uint8
  )
  return sources.LabeledImages(
    images, np.arange(num_images, dtype=np.int32) % 5
  )


def _count_mapped_files():
  """Returns how many files without a name this process has open."""
  count = 0
  for path in pathlib.Path('/proc/self/fd').iterdir():
    # The folder was open while it was listed.
    count += path.is_symlink() and os.readlink(path).startswith('/memfd:')
  return count


class MappedImagesTest(parameterized.TestCase, tf.test.TestCase):
  def test_references_are_to_all_parts_with_their_labels(self):
    data = [_create_data(4), _create_data(0), _create_data(5)]
    images = mapped_images.MappedImages(data)
    self.assertLen(images.references, 3)
    for part, reference in zip(data, images.references, strict=True):
      self.assertEqual(reference.images.dtype, np.int64)
      self.assertAllEqual(images.read(reference.images), part.images)
      self.assertAllEqual(reference.labels, part.labels)

  def test_dataset_on_its_way_has_no_images_with_it(self):
    data = _create_data(1000, (32, 32, 1))
    images = mapped_images.MappedImages([data])
    sizes = [
      tff.framework.serialize_value(
        pipelines.labeled_dataset(part),
        tff.types.tensorflow_to_type(
          tf.data.DatasetSpec(pipelines.labeled_dataset(part).element_spec)
        ),
      )[0].ByteSize()
      for part in (data, images.references[0])
    ]
    self.assertGreater(sizes[0], data.images.nbytes)
    # Eight bytes of an index and four of a label, 1,000 times, and the graph.
    self.assertLess(sizes[1], 1000 * (8 + 4) + 5000)

  def test_memory_goes_with_the_object(self):
    before = _count_mapped_files()
    images = mapped_images.MappedImages([_create_data(3)])
    self.assertEqual(_count_mapped_files(), before + 1)
    del images
    self.assertEqual(_count_mapped_files(), before)


def _build_sums(data_type, get_images):
  """Builds a factor times the sum of pixels, at the server and at clients."""

  @tff.tensorflow.computation(data_type, np.int32)
  def add_up(dataset, factor):
    return factor * dataset.reduce(
      tf.constant(0),
      lambda total, chunk: total
      + tf.reduce_sum(tf.cast(get_images(chunk), tf.int32)),
    )

  @tff.federated_computation(
    tff.FederatedType(data_type, tff.SERVER),
    tff.FederatedType(np.int32, tff.SERVER),
    tff.FederatedType(data_type, tff.CLIENTS),
  )
  def sums(at_server, factor, at_clients):
    factors = tff.federated_broadcast(factor)
    return (
      tff.federated_map(add_up, (at_server, factor)),
      tff.federated_map(add_up, (at_clients, factors)),
    )

  return sums


class TakeIndicesTest(tf.test.TestCase):
  def test_reads_images_wherever_they_are(self):
    data = _create_data(7)
    images = mapped_images.MappedImages([data])
    computation = mapped_images.take_indices(
      _build_sums(pipelines.labeled_type(_SHAPE), lambda chunk: chunk['image']),
      images,
    )
    chunk = '<image=int64[?],label=int32[?]>*'
    self.assertEqual(
      computation.type_signature.parameter.compact_representation(),
      f'<at_server={chunk}@SERVER,factor=int32@SERVER,'
      f'at_clients={{{chunk}}}@CLIENTS>',
    )
    [reference] = images.references
    # The second of three clients has no image.
    shares = np.split(np.arange(7), [2, 2])
    for kind in ('in_process', 'native'):
      with runtime.simulation_context(kind):
        at_server, at_clients = computation(
          pipelines.batched_dataset(reference, 3),
          2,
          [pipelines.labeled_dataset(reference.select(s)) for s in shares],
        )
      self.assertEqual(at_server, 2 * data.images.sum())
      self.assertEqual(
        at_clients, [2 * data.images[share].sum() for share in shares]
      )


if __name__ == '__main__':
  tf.test.main()
