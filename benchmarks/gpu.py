# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Checks the first GPU, and measures training on the GPU.

  python -m benchmarks.gpu --minutes=8

The program compares a client update with the same update on the CPU. Then it
measures steps, rounds and memory, with one client at a time and with several
clients at once, and profiles a round. The default is SemiFL's experiment with
CIFAR-10 and 4000 labels, with images of noise. Parts that have not begun when
the time is over are left out, and named. Without a GPU everything runs on
logical CPUs. The exit code is not 0 if the updates differ.
"""

from collections.abc import Iterator
import dataclasses
import functools
import sys
import time

import tensorflow as tf

from benchmarks import device_profile
from benchmarks import device_rounds
from benchmarks import device_updates
from benchmarks import federation
from benchmarks import measurement
from benchmarks import report as report_lib
from tff_semifl import settings
from tff_semifl.cli import program
from tff_semifl.experiment import presets

_PAPER = presets.load('semifl/cifar10_4000_iid').settings
_NUM_IMAGES = 50_000
# The least important comes last.
_PARTS = (
  'numbers',
  'steps',
  'rounds',
  'side_by_side',
  'not_compiled',
  'profile',
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class GPU(settings.Settings):
  """The settings of this program."""

  parts: tuple[str, ...] = settings.setting(
    _PARTS,
    'What to do, separated by commas. By default all.',
    settings.Values(
      f'some of {", ".join(_PARTS)}', lambda names: {*names} <= {*_PARTS}
    ),
  )
  minutes: float = settings.setting(
    8.0, 'Minutes after which no further part begins.', settings.AT_LEAST_0
  )
  side_by_side: tuple[str, ...] = settings.setting(
    ('2', '4', '8'),
    'Clients at a time in further rounds, separated by commas.',
    settings.Values(
      'whole numbers from 2',
      lambda texts: bool(texts)
      and all(text.isdecimal() and int(text) >= 2 for text in texts),
    ),
  )
  client_gpu_memory: int = settings.setting(
    6144,  # The server used 5.1 GB on an H200.
    'Megabytes of the GPU for each client at a time.',
    settings.AT_LEAST_1,
  )
  model_depth: int = settings.setting(
    _PAPER['model_depth'], 'Depth of the WideResNet.', settings.AT_LEAST_1
  )
  model_width: int = settings.setting(
    _PAPER['model_width'], 'Width of the WideResNet.', settings.AT_LEAST_1
  )
  num_clients: int = settings.setting(
    _PAPER['clients_per_round'],
    'Clients, all of which take part in each round.',
    settings.AT_LEAST_1,
  )
  images_per_client: int = settings.setting(
    (_NUM_IMAGES - _PAPER['num_labeled']) // _PAPER['num_clients'],
    'Images of each client.',
    settings.AT_LEAST_1,
  )
  num_labeled: int = settings.setting(
    _PAPER['num_labeled'], 'Labeled images of the server.', settings.AT_LEAST_1
  )
  num_epochs: int = settings.setting(
    _PAPER['client_epochs'],
    'Epochs of clients and server.',
    settings.AT_LEAST_1,
  )
  report: report_lib.Report = report_lib.Report(output_file='results/gpu.json')


def main(gpu: GPU) -> None:
  """Checks the GPU, and writes the report."""
  end = time.monotonic() + 60 * gpu.minutes
  path = gpu.report.open_file()
  size = federation.Size(
    model_depth=gpu.model_depth,
    model_width=gpu.model_width,
    num_clients=gpu.num_clients,
    images_per_client=gpu.images_per_client,
    num_labeled=gpu.num_labeled,
    num_epochs=gpu.num_epochs,
  )
  numbers_side_by_side = [*map(int, gpu.side_by_side)]
  devices = _create_devices(max(numbers_side_by_side), gpu.client_gpu_memory)
  rounds = functools.partial(device_rounds.measure, size=size)
  runs = [
    (
      'steps',
      'steps',
      lambda: device_updates.measure(devices[0], size, gpu.report.repetitions),
    ),
    ('rounds', 'rounds', lambda: rounds(devices[:1], jit_compile=True)),
    *(
      (
        'side_by_side',
        f'{number} side by side',
        functools.partial(rounds, devices[:number], jit_compile=True),
      )
      for number in numbers_side_by_side
    ),
    (
      'not_compiled',
      'rounds, not compiled',
      lambda: rounds(devices[:1], jit_compile=False),
    ),
    ('profile', 'profile', lambda: device_profile.measure(devices, size)),
  ]
  numbers, left_out = [], []

  def measure() -> Iterator[measurement.Measurement]:
    if 'numbers' in gpu.parts:
      numbers.append(device_updates.compare(devices[0], size))
      yield numbers[0]
    for part, name, run in runs:
      if part not in gpu.parts:
        continue
      if time.monotonic() < end:
        yield from run()
      else:
        left_out.append(name)

  report_lib.write(path, measure())
  if left_out:
    print(
      f'The {gpu.minutes:g} minutes were over before: {"; ".join(left_out)}.'
      ' --minutes gives more.'
    )
  if not all(map(device_updates.are_equal, numbers)):
    print(f'{devices[0]} has other numbers than the CPU.', file=sys.stderr)
    sys.exit(1)


def _create_devices(number: int, megabytes: int) -> list[str]:
  """Creates logical devices of the first GPU or the CPU; returns names."""
  if tf.config.list_physical_devices('GPU'):
    kind = 'GPU'
    part = tf.config.LogicalDeviceConfiguration(memory_limit=megabytes)
  else:
    print(
      'TensorFlow sees no GPU: all of this is on the CPU, whose memory it does'
      ' not count.'
    )
    kind = 'CPU'
    part = tf.config.LogicalDeviceConfiguration()
  # Each device has its own stream, so that clients train at the same time.
  tf.config.set_logical_device_configuration(
    tf.config.list_physical_devices(kind)[0], [part] * number
  )
  return [each.name for each in tf.config.list_logical_devices(kind)][:number]


if __name__ == '__main__':
  program.run(main, GPU())
