# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""What it costs to hand the server a whole data set as an argument."""

import collections

import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

from launch.benchmarks import measurement
from tff_semifl import runtime
from tff_semifl.data import pipelines
from tff_semifl.data import sources


def measure(
  num_repetitions: int, *, num_images: int = 50_000
) -> measurement.Measurement:
  """Measures a call with images at the server that it only looks at.

  Args:
    num_repetitions: Calls.
    num_images: Images of 32x32x3 at the server.
  """
  data = sources.LabelledImages(
    np.zeros([num_images, 32, 32, 3], np.uint8),
    np.zeros([num_images], np.int32),
  )
  data_type = pipelines.labelled_type((32, 32, 3))

  @tff.tensorflow.computation(data_type)
  def look(dataset):
    return dataset.reduce(
      np.int64(0),
      lambda count, chunk: count + tf.size(chunk['label'], tf.int64),
    )

  @tff.federated_computation(tff.FederatedType(data_type, tff.SERVER))
  def look_at_server(dataset):
    return tff.federated_map(look, dataset)

  with runtime.simulation_context('in_process'):
    # As training programs do: made once, handed over in each round.
    dataset = pipelines.labelled_dataset(data)
    seconds = measurement.time_in_turns(
      collections.OrderedDict(
        {
          'a dataset that is kept': lambda: look_at_server(dataset),
          'a dataset made for the call': lambda: look_at_server(
            pipelines.labelled_dataset(data)
          ),
        }
      ),
      num_repetitions,
    )
  return measurement.Measurement(
    name='server_data',
    description=f'{num_images:,} images of 32x32x3 at the server, as argument',
    unit='s',
    values=seconds,
    target='at most 0.1 s a call',
  )
