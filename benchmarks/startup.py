# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The time from the start of a program to the end of its first round."""

import pathlib
import subprocess
import sys
import tempfile
import time

import numpy as np
import PIL.Image

from benchmarks import measurement

_FIRST_ROUND = 'start to the end of the first round'


def measure(
  num_repetitions: int, *, model_depth: int = 28, model_width: int = 2
) -> measurement.Measurement:
  """Measures the time of `launch.train semifl` until its first round ends.

  The round has two server steps and evaluates a few images. Nearly all of the
  time is thus for imports, building and compiling.
  """
  with tempfile.TemporaryDirectory() as folder:
    images = pathlib.Path(folder, 'images')
    _write_images(images)
    return _measure(
      'startup',
      f'WideResNet-{model_depth}-{model_width}, two server steps',
      [
        '--task=image_folder',
        f'--image_dir={images}',
        '--clients_per_round=2',
        '--server_epochs=1',
        f'--model_depth={model_depth}',
        f'--model_width={model_width}',
      ],
      num_repetitions,
      target='a first step at most 10 s after the start, on two cores',
    )


def measure_digits(num_repetitions: int) -> measurement.Measurement:
  """Measures the time until round 0 of `semifl/digits_50_iid` ends."""
  return _measure(
    'startup_digits',
    'semifl/digits_50_iid, 10 server steps',
    ['--preset=semifl/digits_50_iid'],
    num_repetitions,
    target='a first step at most 5 s after the start, on two cores',
  )


def _measure(
  name: str, what: str, flags: list[str], num_repetitions: int, *, target: str
) -> measurement.Measurement:
  with tempfile.TemporaryDirectory() as folder:
    seconds = [
      _time(
        [
          *flags,
          '--total_rounds=1',
          f'--output_dir={folder}',
          f'--experiment_name={repetition}',
        ]
      )
      for repetition in range(num_repetitions)
    ]
  return measurement.Measurement(
    name=name,
    description=f'From the start of launch.train: {what}',
    unit='s',
    values={_FIRST_ROUND: seconds},
    target=target,
  )


def _write_images(folder: pathlib.Path) -> None:
  generator = np.random.default_rng(0)
  for name, number in (
    ('server/cat', 10),
    ('server/dog', 10),
    ('clients/0', 10),
    ('clients/1', 10),
    ('test/cat', 2),
    ('test/dog', 2),
  ):
    (folder / name).mkdir(parents=True)
    for index in range(number):
      pixels = generator.integers(256, size=(32, 32, 3), dtype=np.uint8)
      PIL.Image.fromarray(pixels).save(folder / name / f'{index}.png')


def _time(flags: list[str]) -> float:
  """The seconds until the first round ends."""
  start = time.perf_counter()
  process = subprocess.Popen(
    [sys.executable, '-m', 'launch.train', 'semifl', *flags],
    stdout=subprocess.DEVNULL,
    stderr=subprocess.PIPE,
    text=True,
  )
  lines = []
  try:
    for line in process.stderr:
      lines.append(line)
      if 'round 0/1' in line:
        return time.perf_counter() - start
  finally:
    process.kill()
    process.wait()
    process.stderr.close()
  raise RuntimeError(f'The program ended early: {"".join(lines)}')
