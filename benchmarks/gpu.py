# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Checks the first GPU, and measures training on it.

  python -m benchmarks.gpu --minutes=8

It compares a client update with the CPU's, and then measures steps, rounds and
memory, by default of SemiFL's experiment with CIFAR-10 and 4000 labels, with
noise images: rounds with one client at a time, and with several side by side.
Parts that have not begun when the time is over are left out, and named. Without
a GPU everything runs on logical CPUs. The exit code is not 0 if numbers differ.
"""

from collections.abc import Iterator
import functools
import sys
import time

from absl import flags
import tensorflow as tf

from benchmarks import device_rounds
from benchmarks import device_updates
from benchmarks import federation
from benchmarks import measurement
from benchmarks import report
from tff_semifl.cli import program
from tff_semifl.experiment import presets

_MINUTES = flags.DEFINE_float(
  'minutes', 8, 'Minutes after which no further part begins.', lower_bound=0
)
_SIDE_BY_SIDE = flags.DEFINE_multi_integer(
  'side_by_side',
  [2, 4, 8],
  'Clients at a time in further rounds; may be repeated.',
  lower_bound=2,
)
_MEGABYTES = flags.DEFINE_integer(
  'client_gpu_memory',
  6144,  # The server took 5.1 GB on an H200.
  'Megabytes of the GPU for each client at a time.',
  lower_bound=1,
)
_PAPER = presets.load('semifl/cifar10_4000_iid').settings
_NUM_IMAGES = 50_000
_MODEL_DEPTH = flags.DEFINE_integer(
  'model_depth',
  _PAPER['model_depth'],
  'Depth of the WideResNet.',
  lower_bound=1,
)
_MODEL_WIDTH = flags.DEFINE_integer(
  'model_width',
  _PAPER['model_width'],
  'Width of the WideResNet.',
  lower_bound=1,
)
_NUM_CLIENTS = flags.DEFINE_integer(
  'num_clients',
  _PAPER['clients_per_round'],
  'Clients, all of which take part in each round.',
  lower_bound=1,
)
_IMAGES_PER_CLIENT = flags.DEFINE_integer(
  'images_per_client',
  (_NUM_IMAGES - _PAPER['num_labeled']) // _PAPER['num_clients'],
  'Images of each client.',
  lower_bound=1,
)
_NUM_LABELED = flags.DEFINE_integer(
  'num_labeled',
  _PAPER['num_labeled'],
  'Labeled images of the server.',
  lower_bound=1,
)
_NUM_EPOCHS = flags.DEFINE_integer(
  'num_epochs',
  _PAPER['client_epochs'],
  'Epochs of clients and server.',
  lower_bound=1,
)


def main() -> None:
  """Runs the program, after flags were parsed."""
  end = time.monotonic() + 60 * _MINUTES.value
  path = report.open_file('results/gpu.json')
  size = federation.Size(
    model_depth=_MODEL_DEPTH.value,
    model_width=_MODEL_WIDTH.value,
    num_clients=_NUM_CLIENTS.value,
    images_per_client=_IMAGES_PER_CLIENT.value,
    num_labeled=_NUM_LABELED.value,
    num_epochs=_NUM_EPOCHS.value,
  )
  devices = _create_devices(max(_SIDE_BY_SIDE.value))
  rounds = functools.partial(device_rounds.measure, size=size)
  # The least important part comes last.
  parts = {
    'steps': lambda: device_updates.measure(
      devices[0], size, report.REPETITIONS.value
    ),
    'rounds': lambda: rounds(devices[:1], jit_compile=True),
    **{
      f'{number} side by side': functools.partial(
        rounds, devices[:number], jit_compile=True
      )
      for number in _SIDE_BY_SIDE.value
    },
    'rounds, not compiled': lambda: rounds(devices[:1], jit_compile=False),
  }
  left_out = []
  numbers = device_updates.compare(devices[0], size)

  def measure() -> Iterator[measurement.Measurement]:
    yield numbers
    for name, part in parts.items():
      if time.monotonic() < end:
        yield from part()
      else:
        left_out.append(name)

  report.write(path, measure())
  if left_out:
    print(
      f'The {_MINUTES.value:g} minutes were over before: {"; ".join(left_out)}.'
      ' --minutes gives more.'
    )
  if not device_updates.are_equal(numbers):
    print(f'{devices[0]} has other numbers than the CPU.', file=sys.stderr)
    sys.exit(1)


def _create_devices(number: int) -> list[str]:
  """The names of some logical devices of the first GPU, or else of the CPU."""
  if tf.config.list_physical_devices('GPU'):
    kind = 'GPU'
    part = tf.config.LogicalDeviceConfiguration(memory_limit=_MEGABYTES.value)
  else:
    print(
      'TensorFlow sees no GPU: all of this is on the CPU, whose memory it does'
      ' not count.'
    )
    kind = 'CPU'
    part = tf.config.LogicalDeviceConfiguration()
  # Each has its own stream, so that clients train side by side.
  tf.config.set_logical_device_configuration(
    tf.config.list_physical_devices(kind)[0], [part] * number
  )
  return [each.name for each in tf.config.list_logical_devices(kind)][:number]


if __name__ == '__main__':
  program.run(main)
