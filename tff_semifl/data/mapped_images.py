# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Images by reference: computations take indices into mapped memory.

TFF would send all images of a cohort to a worker process in every round, up to
100 MiB. A worker process that maps the images' memory receives indices only.
"""

import collections
from collections.abc import Mapping, Sequence
import os
import weakref

import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

from tff_semifl.data import example_kinds
from tff_semifl.data import sources

_INDICES_TYPE = tff.TensorType(np.int64, (None,))


class MappedImages:
  """Images in memory that other processes of this user can map.

  The memory is an anonymous file, which is freed with this object or with this
  process. `references` are the given data, with int64 indices for images.
  """

  def __init__(self, data: Sequence[sources.LabeledImages | sources.ImagePool]):
    """Copies images or feature vectors, at least one, all of one shape."""
    shape = data[0].images.shape[1:]
    self._dtype = example_kinds.kind_of(shape).dtype
    self._shape = (sum(len(part.images) for part in data), *shape)
    file = os.fdopen(os.memfd_create('images'), 'wb')
    weakref.finalize(self, file.close)
    self._path = f'/proc/{os.getpid()}/fd/{file.fileno()}'
    self.references = []
    start = 0
    for part in data:
      np.asarray(part.images).tofile(file)
      indices = np.arange(start, start + len(part.images))
      self.references.append(part._replace(images=indices))
      start += len(part.images)
    file.flush()

  def read(self, indices: tf.Tensor) -> tf.Tensor:
    """The images or features [number, ...] at `indices`, int64 [number]."""
    images = tf.raw_ops.ImmutableConst(
      dtype=self._dtype, shape=self._shape, memory_region_name=self._path
    )
    return tf.gather(images, indices)

  def read_dataset(self, dataset: tf.data.Dataset) -> tf.data.Dataset:
    """Replaces the indices in a dataset by images."""

    # Captured here, so that a dataset passed between TensorFlow graphs has
    # indices, and images are read where the dataset is used.
    def read_chunk(chunk):
      if isinstance(chunk, Mapping):
        return collections.OrderedDict(chunk, image=self.read(chunk['image']))
      return self.read(chunk)

    return dataset.map(read_chunk)


def take_indices(
  computation: tff.Computation, images: MappedImages
) -> tff.Computation:
  """Converts a computation on images to a computation on indices.

  The result takes datasets with `image=int64[?]` in place of images or
  features, and `int64[?]*` in place of bare images.
  """
  parameter_type = computation.type_signature.parameter
  has_many = isinstance(parameter_type, tff.StructType)
  parts = [(None, parameter_type)]
  if has_many:
    parts = tff.structure.to_elements(parameter_type)
  readers = [_build_reader(part, images) for _, part in parts]
  taken = [
    (name, part if reader is None else _place_like(part, reader))
    for (name, part), reader in zip(parts, readers, strict=True)
  ]

  @tff.federated_computation(tff.StructType(taken) if has_many else taken[0][1])
  def by_reference(argument):
    return computation(
      *(
        part if reader is None else tff.federated_map(reader, part)
        for part, reader in zip(
          argument if has_many else [argument], readers, strict=True
        )
      )
    )

  return by_reference


def _build_reader(
  parameter_type: tff.Type, images: MappedImages
) -> tff.Computation | None:
  """A computation that reads a parameter's images; None if it has no images."""
  if not (
    isinstance(parameter_type, tff.FederatedType)
    and isinstance(parameter_type.member, tff.SequenceType)
  ):
    return None
  chunk_type = parameter_type.member.element
  if isinstance(chunk_type, tff.StructType):
    indices_type = collections.OrderedDict(
      tff.structure.to_elements(chunk_type), image=_INDICES_TYPE
    )
  else:
    indices_type = _INDICES_TYPE
  return tff.tensorflow.computation(
    images.read_dataset, tff.SequenceType(indices_type)
  )


def _place_like(
  federated_type: tff.FederatedType, reader: tff.Computation
) -> tff.FederatedType:
  """The type of the reader's argument, with `federated_type`'s placement."""
  return tff.FederatedType(
    reader.type_signature.parameter,
    federated_type.placement,
    federated_type.all_equal,
  )
