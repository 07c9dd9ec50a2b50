# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The time from the start of a program to its first training."""

import pathlib
import subprocess
import sys
import tempfile
import time

import numpy as np
import PIL.Image

from benchmarks import measurement


def measure(
  num_repetitions: int, *, model_depth: int = 28, model_width: int = 2
) -> measurement.Measurement:
  """Measures `launch.train semifl` until its first round is over.

  That is two steps of the server, its statistics and an evaluation, of a few
  images: nearly all of it is imports, building and compiling.

  Args:
    num_repetitions: Times that the program is started.
    model_depth: Depth of the WideResNet.
    model_width: Its width.
  """
  seconds = []
  with tempfile.TemporaryDirectory() as folder:
    images = pathlib.Path(folder, 'images')
    _write_images(images)
    for repetition in range(num_repetitions):
      seconds.append(
        _time_until_first_round(
          [
            '--task=image_folder',
            f'--image_dir={images}',
            '--clients_per_round=2',
            '--server_epochs=1',
            '--total_rounds=1',
            f'--model_depth={model_depth}',
            f'--model_width={model_width}',
            f'--output_dir={folder}',
            f'--experiment_name={repetition}',
          ]
        )
      )
  return measurement.Measurement(
    name='startup',
    description=(
      'From the start of launch.train to the end of its round 0:'
      f' WideResNet-{model_depth}-{model_width}, two server steps'
    ),
    unit='s',
    values={'start to first round': seconds},
    target='at most 15 s on two cores',
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


def _time_until_first_round(flags: list[str]) -> float:
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
