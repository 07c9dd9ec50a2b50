# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Checks the first GPU that TensorFlow sees, and measures training on it.

  python -m benchmarks.gpu --seconds=600

It compares a client update with the CPU's, and then measures steps, rounds and
memory, by default of SemiFL's experiment with CIFAR-10 and 4000 labels, with
noise images. Without a GPU everything runs on the CPU. The exit code is not 0
if numbers differ.
"""

from collections.abc import Iterator
import sys

from absl import flags
import tensorflow as tf

from benchmarks import device_rounds
from benchmarks import device_updates
from benchmarks import federation
from benchmarks import measurement
from benchmarks import report
from tff_semifl.command_line import program
from tff_semifl.experiments import presets

_SECONDS = flags.DEFINE_float(
  'seconds', 60, 'How long to run rounds at the end.', lower_bound=0
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
  path = report.open_file('results/gpu.json')
  size = federation.Size(
    model_depth=_MODEL_DEPTH.value,
    model_width=_MODEL_WIDTH.value,
    num_clients=_NUM_CLIENTS.value,
    images_per_client=_IMAGES_PER_CLIENT.value,
    num_labeled=_NUM_LABELED.value,
    num_epochs=_NUM_EPOCHS.value,
  )
  gpus = tf.config.list_logical_devices('GPU')
  if not gpus:
    print(
      'TensorFlow sees no GPU: all of this is on the CPU, whose memory it does'
      ' not count.'
    )
  device = (gpus or tf.config.list_logical_devices('CPU'))[0].name
  are_equal = False

  def measure() -> Iterator[measurement.Measurement]:
    nonlocal are_equal
    numbers = device_updates.compare(device, size)
    are_equal = device_updates.are_equal(numbers)
    yield numbers
    yield from device_updates.measure(device, size, report.REPETITIONS.value)
    yield from device_rounds.measure(device, size, _SECONDS.value)

  report.write(path, measure())
  if not are_equal:
    print(f'{device} has other numbers than the CPU.', file=sys.stderr)
    sys.exit(1)


if __name__ == '__main__':
  program.run(main)
