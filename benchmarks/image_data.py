# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The cost of handing images to a computation that only counts them."""

from collections.abc import Callable
import contextlib

import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

from benchmarks import measurement
from tff_semifl import runtime
from tff_semifl.data import mapped_images
from tff_semifl.data import pipelines
from tff_semifl.data import sources

_SHAPE = (32, 32, 3)


def measure_server(
  num_repetitions: int, *, num_images: int = 50_000
) -> measurement.Measurement:
  """Measures calls with images at the server.

  By value they cannot go to TFF's worker: it is sent no dataset of more than
  100 MiB.

  Args:
    num_repetitions: Calls.
    num_images: Images of 32x32x3 at the server.
  """
  data = _create_data(num_images)
  images = mapped_images.MappedImages([data])
  [references] = images.references
  data_type = pipelines.labeled_type(_SHAPE)

  @tff.federated_computation(tff.FederatedType(data_type, tff.SERVER))
  def count(dataset):
    return tff.federated_map(_build_count(data_type), dataset)

  count_by_reference = mapped_images.take_indices(count, images)
  # As training programs do: made once, handed over in each round.
  dataset = pipelines.labeled_dataset(data)
  dataset_of_references = pipelines.labeled_dataset(references)
  seconds = _time_in_turns(
    {
      'a dataset that is kept': ('in_process', lambda: count(dataset)),
      'a dataset made for the call': (
        'in_process',
        lambda: count(pipelines.labeled_dataset(data)),
      ),
      'native, by reference': (
        'native',
        lambda: count_by_reference(dataset_of_references),
      ),
    },
    num_repetitions,
  )
  return measurement.Measurement(
    name='server_data',
    description=f'{num_images:,} images of 32x32x3 at the server, as argument',
    unit='s',
    values=seconds,
    target='at most 0.1 s a call',
  )


def measure_clients(
  num_repetitions: int, *, num_clients: int = 10, images_per_client: int = 500
) -> measurement.Measurement:
  """Measures calls with images at clients, by value and by reference.

  Args:
    num_repetitions: Calls.
    num_clients: Clients.
    images_per_client: Images of 32x32x3 of each.
  """
  data = _create_data(num_clients * images_per_client)
  images = mapped_images.MappedImages([data])
  [references] = images.references
  data_type = pipelines.client_type(_SHAPE)

  @tff.federated_computation(tff.FederatedType(data_type, tff.CLIENTS))
  def count(datasets):
    return tff.federated_sum(
      tff.federated_map(_build_count(data_type), datasets)
    )

  count_by_reference = mapped_images.take_indices(count, images)

  # As training programs do: made anew in each round.
  def create_datasets(part: sources.LabeledImages) -> list[tf.data.Dataset]:
    return pipelines.ClientPopulation(
      sources.ImagePool(*part),
      np.split(np.arange(len(part.labels)), num_clients),
      clients_per_round=num_clients,
      seed=0,
    ).datasets(1)

  seconds = _time_in_turns(
    {
      'in process': ('in_process', lambda: count(create_datasets(data))),
      'native, by value': ('native', lambda: count(create_datasets(data))),
      'native, by reference': (
        'native',
        lambda: count_by_reference(create_datasets(references)),
      ),
    },
    num_repetitions,
  )
  return measurement.Measurement(
    name='client_data',
    description=(
      f'{images_per_client:,} images of 32x32x3 at each of {num_clients}'
      ' clients, as argument'
    ),
    unit='s',
    values=seconds,
    compared_with='native, by value',
  )


def _create_data(num_images: int) -> sources.LabeledImages:
  return sources.LabeledImages(
    np.zeros([num_images, *_SHAPE], np.uint8), np.zeros([num_images], np.int32)
  )


def _build_count(data_type: tff.SequenceType) -> tff.Computation:
  """Builds the number of images in a dataset."""

  @tff.tensorflow.computation(data_type)
  def count(dataset):
    return dataset.reduce(
      np.int64(0),
      lambda total, chunk: total + tf.shape(chunk['image'], tf.int64)[0],
    )

  return count


def _time_in_turns(
  alternatives: dict[str, tuple[str, Callable[[], object]]],
  num_repetitions: int,
) -> dict[str, list[float]]:
  """Times calls, each in a runtime."""
  with contextlib.ExitStack() as stack:
    contexts = {
      kind: stack.enter_context(runtime.simulation_context(kind))
      for kind, _ in alternatives.values()
    }
    return measurement.time_in_turns(
      {
        name: measurement.in_context(contexts[kind], call)
        for name, (kind, call) in alternatives.items()
      },
      num_repetitions,
    )
