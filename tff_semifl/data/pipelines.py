# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Types of data in TFF computations, and the data of each round.

Server and client data are `tf.data.Dataset`s. Their elements, called chunks,
have any number of images; computations concatenate them.
"""

import collections
from collections.abc import Callable, Container, Sequence
import copy
from typing import Any, TypeVar

import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

from tff_semifl.data import image_storage
from tff_semifl.data import sources
from tff_semifl.randomness import random_seeds
from tff_semifl.runtime import sites

ImageShape = sources.ExampleShape
_LABELS = tff.TensorType(np.int32, (None,))
_Total = TypeVar('_Total')
# Optimizing and tuning a dataset takes longer than reading a client's few
# chunks: 9 ms instead of 1.4 ms for one chunk.
_AS_IT_IS = tf.data.Options()
_AS_IT_IS.experimental_optimization.apply_default_optimizations = False
_AS_IT_IS.autotune.enabled = False


def batch_type(image_shape: ImageShape) -> tff.TensorType:
  """The type of any number of images or feature vectors."""
  dtype = sources.kind_of(image_shape).dtype
  return tff.TensorType(dtype.type, (None, *image_shape))


def labeled_type(image_shape: ImageShape) -> tff.SequenceType:
  """The type of the server's data: chunks of images with labels."""
  return chunks(image=batch_type(image_shape), label=_LABELS)


def client_type(image_shape: ImageShape) -> tff.SequenceType:
  """The type of a client's data: chunks of images, with the client's id."""
  return chunks(client_id=np.int32, image=batch_type(image_shape))


def labeled_client_type(image_shape: ImageShape) -> tff.SequenceType:
  """The type of the data of clients with labels.

  TFF needs one type for all clients: clients without labels have an empty
  `label`. Labels that are for metrics only are never part of the data.
  """
  return chunks(
    client_id=np.int32, image=batch_type(image_shape), label=_LABELS
  )


def chunks(**fields: Any) -> tff.SequenceType:
  """The type of a dataset of chunks; `fields` maps names to types, in order."""
  return tff.SequenceType(collections.OrderedDict(fields))


def labeled_dataset(data: sources.LabeledImages) -> tf.data.Dataset:
  """A dataset of `labeled_type` with all of `data` in one chunk."""
  return tf.data.Dataset.from_tensors(
    collections.OrderedDict(image=data.images, label=data.labels)
  )


def batched_dataset(
  data: sources.LabeledImages, batch_size: int
) -> tf.data.Dataset:
  """A dataset of `data` in chunks of at most `batch_size`, for evaluation."""
  return tf.data.Dataset.from_tensor_slices(
    collections.OrderedDict(image=data.images, label=data.labels)
  ).batch(batch_size)


class ClientPopulation:
  """The clients of a simulation and the cohort of each round.

  Attributes:
    clients_per_round: The size of a cohort before dropouts.
  """

  def __init__(
    self,
    data: sources.ImagePool,
    partition: Sequence[np.ndarray],
    *,
    clients_per_round: int,
    seed: int,
    dropout_probability: float = 0.0,
    labeled_clients: Container[int] | None = None,
    know_participation: bool = False,
    in_passes: bool = False,
  ):
    """Initializes the population.

    `seed` determines cohorts and dropouts: it is the run's seed, or the
    `cohort_seed` of a private run's key. `labeled_clients` train on their true
    labels. If it is None, the data of clients have no field `label`.
    """
    self._data = data
    self._partition = partition
    self._seed = seed
    self._dropout_probability = dropout_probability
    self._labeled_clients = labeled_clients
    self._know_participation = know_participation
    self._in_passes = in_passes
    self._features: np.ndarray | None = None
    self._set_clients_per_round(clients_per_round)

  def _set_clients_per_round(self, clients_per_round: int) -> None:
    if not 0 <= clients_per_round <= self.num_clients:
      raise ValueError(
        f'{clients_per_round} clients per round cannot be chosen among'
        f' {self.num_clients} clients'
      )
    self.clients_per_round = clients_per_round
    # Each client's number of updates in the counted rounds. Checkpoints do not
    # store these numbers, which follow from the cohorts.
    self._num_updates = np.zeros(self.num_clients, np.int32)
    self._num_rounds_counted = 0

  @property
  def num_clients(self) -> int:
    """Number of clients in the population."""
    return len(self._partition)

  @property
  def num_images(self) -> list[int]:
    """Number of images of each client."""
    return [len(indices) for indices in self._partition]

  def with_clients_per_round(
    self, clients_per_round: int
  ) -> 'ClientPopulation':
    """A copy of this population with cohorts of another size."""
    changed = copy.copy(self)
    changed._set_clients_per_round(clients_per_round)
    return changed

  def with_features(self, features: np.ndarray) -> 'ClientPopulation':
    """A copy of this population with features, float32 [images, features].

    `datasets` then have images and features, but `preparation_datasets` have
    features in place of images.
    """
    changed = copy.copy(self)
    changed._features = features
    return changed

  def cohort(self, round_num: int) -> list[int]:
    """The sampled clients of a round that do not drop out."""
    chosen = self.chosen(round_num)
    draws = random_seeds.numpy_generator(
      self._seed, random_seeds.Purpose.CLIENT_DROPOUT, round_num
    ).random(len(chosen))
    return [
      client
      for client, draw in zip(chosen, draws, strict=True)
      if draw >= self._dropout_probability
    ]

  def chosen(self, round_num: int) -> list[int]:
    """Samples the cohort of a round uniformly without replacement.

    Round 0 has no clients: only the server trains (SemiFL, Algorithm 1). With
    `in_passes`, cohorts are successive parts of a random order of all clients.
    """
    if round_num == 0:
      return []
    size = self.clients_per_round
    if self._in_passes and size:
      index, place = divmod(round_num - 1, -(-self.num_clients // size))
      order = random_seeds.numpy_generator(
        self._seed, random_seeds.Purpose.COHORT, index
      ).permutation(self.num_clients)
      return order[place * size : (place + 1) * size].tolist()
    generator = random_seeds.numpy_generator(
      self._seed, random_seeds.Purpose.COHORT, round_num
    )
    return generator.choice(self.num_clients, size, replace=False).tolist()

  def datasets(
    self, round_num: int
  ) -> list[tf.data.Dataset | sites.SiteDataset]:
    """A dataset for each client of the round's cohort."""
    if self._know_participation:
      self._count_updates_before(round_num)
    datasets = []
    for client in self.cohort(round_num):
      chunk, share = self._chunk(client), self._partition[client]
      if self._know_participation:
        chunk['earlier_rounds'] = self._num_updates[client]
      if self._features is not None:
        chunk['features'] = self._features[share]
      # Fields must be in the order of the type.
      chunk.move_to_end('image')
      if self._labeled_clients is not None:
        own = self._data.true_labels[share]
        chunk['label'] = own if client in self._labeled_clients else own[:0]
      datasets.append(_to_dataset(chunk))
    return datasets

  def _count_updates_before(self, round_num: int) -> None:
    """Counts each client's updates in the rounds before `round_num`."""
    if round_num < self._num_rounds_counted:
      self._set_clients_per_round(self.clients_per_round)
    while self._num_rounds_counted < round_num:
      self._num_updates[self.cohort(self._num_rounds_counted)] += 1
      self._num_rounds_counted += 1

  def all_datasets(self) -> list[tf.data.Dataset | sites.SiteDataset]:
    """All clients' datasets, of `client_type`."""
    return [*map(_to_dataset, map(self._chunk, range(self.num_clients)))]

  def preparation_datasets(self) -> list[tf.data.Dataset | sites.SiteDataset]:
    """Like `all_datasets`, but with features, if there are any, as images."""
    if self._features is None:
      return self.all_datasets()
    return [
      _to_dataset(
        collections.OrderedDict(
          client_id=np.int32(client), image=self._features[indices]
        )
      )
      for client, indices in enumerate(self._partition)
    ]

  def true_labels(self, round_num: int) -> list[np.ndarray]:
    """The cohort's true labels, int32 [images] each, for metrics."""
    return [
      self._data.true_labels[self._partition[client]]
      for client in self.cohort(round_num)
    ]

  def _chunk(self, client: int) -> collections.OrderedDict[str, Any]:
    images = self._data.images[self._partition[client]]
    if not isinstance(images, image_storage.SiteImages):
      images = np.asarray(images)
    return collections.OrderedDict(client_id=np.int32(client), image=images)


def _to_dataset(
  chunk: collections.OrderedDict[str, Any],
) -> tf.data.Dataset | sites.SiteDataset:
  images = chunk['image']
  if isinstance(images, image_storage.SiteImages):
    return images.dataset({k: v for k, v in chunk.items() if k != 'image'})
  return tf.data.Dataset.from_tensors(chunk)


def concatenate_chunks(
  dataset: tf.data.Dataset,
) -> collections.OrderedDict[str, tf.Tensor]:
  """Concatenates a dataset's chunks, inside a TFF computation.

  A scalar, such as the client's id, has the last chunk's value, or 0 if there
  are no chunks.
  """
  spec = dataset.element_spec
  return fold(
    dataset,
    tf.nest.map_structure(
      lambda each: tf.zeros(_with_rows(each, 0), each.dtype), spec
    ),
    lambda total, chunk: tf.nest.map_structure(_append, total, chunk),
    shapes=tf.nest.map_structure(
      lambda each: tf.TensorShape(_with_rows(each, None)), spec
    ),
  )


def _with_rows(spec: tf.TensorSpec, number: int | None) -> list[int | None]:
  """The shape of `spec` with `number` rows; a scalar keeps its shape."""
  return [number, *spec.shape[1:]] if spec.shape.rank else []


def _append(total: tf.Tensor, chunk: tf.Tensor) -> tf.Tensor:
  """Appends a chunk; most datasets have one chunk, which is not copied."""
  if not chunk.shape.rank:
    return chunk
  return tf.cond(
    tf.equal(tf.shape(total)[0], 0),
    lambda: chunk,
    lambda: tf.concat([total, chunk], axis=0),
  )


def fold(
  dataset: tf.data.Dataset,
  initial: _Total,
  add_fn: Callable[[_Total, Any], _Total],
  shapes: Any = None,
) -> _Total:
  """Reduces a dataset to one value, in the order of its elements.

  Runs on the GPU if there is one; `tf.data.Dataset.reduce` never does.

  `add_fn` maps (result, element) to the next result. `shapes`, a structure like
  `initial`, is needed only if the shapes of results change.
  """

  # `iter` needs a function. AutoGraph only costs time.
  @tf.function(autograph=False)
  def run(dataset: tf.data.Dataset) -> _Total:
    iterator = iter(dataset.with_options(_AS_IT_IS))

    def step(element: tf.experimental.Optional, total: _Total):
      total = add_fn(total, element.get_value())
      return iterator.get_next_as_optional(), total

    first = iterator.get_next_as_optional()
    invariants = None
    if shapes is not None:
      invariants = (tf.type_spec_from_value(first), shapes)
    _, total = tf.while_loop(
      lambda element, _: element.has_value(),
      step,
      (first, initial),
      shape_invariants=invariants,
    )
    return total

  return run(dataset)
