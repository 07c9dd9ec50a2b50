# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The time of one step of a client update."""

from collections.abc import Callable

from benchmarks import federation as federation_lib
from benchmarks import measurement
from benchmarks import plain_round


def measure(
  num_repetitions: int, size: federation_lib.Size | None = None
) -> measurement.Measurement:
  """Measures the time per step of client updates in plain TensorFlow.

  Pseudo-labels and augmentation are included.
  """
  size = (size or federation_lib.Size())._replace(num_clients=1)
  federation = federation_lib.Federation(size)
  seconds = measurement.time_alternately(
    {'plain TensorFlow': _build_update(federation)}, num_repetitions
  )
  batch_size = federation.system.local_training.client_batch_size
  num_steps = federation.num_client_steps
  return measurement.Measurement(
    name='client_step',
    description=(
      f'A step of a client of SemiFL, {batch_size} images and as many'
      f' mixtures, of {num_steps}: {size}'
    ),
    unit='s',
    values={
      name: [each / num_steps for each in values]
      for name, values in seconds.items()
    },
  )


def _build_update(federation: federation_lib.Federation) -> Callable[[], None]:
  client_updates = plain_round.build_client_updates(federation)
  weights, *_ = plain_round.initial_state(federation)

  def run() -> None:
    client_updates(weights)[0][0].numpy()

  return run
