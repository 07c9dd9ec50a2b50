# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The time of a client's step, by precision."""

from collections.abc import Callable

from benchmarks import federation as federation_lib
from benchmarks import measurement
from benchmarks import plain_round


def measure(
  num_repetitions: int, size: federation_lib.Size | None = None
) -> measurement.Measurement:
  """Measures client updates in plain TensorFlow, per step.

  Pseudo-labels and augmentation are included.
  """
  size = (size or federation_lib.Size())._replace(num_clients=1)
  updates = {
    'float32': federation_lib.Federation(size),
    'bfloat16': federation_lib.Federation(size, train_in_bfloat16=True),
  }
  seconds = measurement.time_alternately(
    {name: _build_update(federation) for name, federation in updates.items()},
    num_repetitions,
  )
  batch_size = updates['float32'].system.local_training.client_batch_size
  num_steps = updates['float32'].num_client_steps
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
    compared_with='float32',
  )


def _build_update(federation: federation_lib.Federation) -> Callable[[], None]:
  client_updates = plain_round.build_client_updates(federation)
  weights, *_ = plain_round.initial_state(federation)

  def run() -> None:
    client_updates(weights)[0][0].numpy()

  return run
