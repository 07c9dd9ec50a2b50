# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The memory that a run needs whose images are in memory, or on disk."""

import csv
import functools
import pathlib
import re
import subprocess
import sys
import tempfile
import time
from typing import NamedTuple

import numpy as np
import PIL.Image
import tensorflow as tf

from benchmarks import measurement
from tff_semifl.experiments import image_task

_NUM_CLIENTS = 200
_NUM_LABELED = _NUM_TEST = 20
_NUM_ROUNDS = 5
_SECONDS_BETWEEN_LOOKS = 0.05
_PLACES = {'in memory': False, 'on disk': True}


class _Run(NamedTuple):
  """The memory and the time that a run needed.

  Attributes:
    megabytes: The most memory of its own at any time, without the pages of
      files that the system keeps as long as nobody else needs the memory.
    seconds: Of each round, from the second on.
  """

  megabytes: float
  seconds: list[float]


def measure_memory(
  num_repetitions: int, num_images: int = 20_000, image_size: int = 96
) -> measurement.Measurement:
  """Measures the peak of memory in a run with many photos.

  Args:
    num_repetitions: Runs of each kind.
    num_images: Images of clients, a multiple of 200.
    image_size: Their height and width.
  """
  return measurement.Measurement(
    name='image_memory',
    description=f'Peak of memory: {_describe(num_images, image_size)}',
    unit='MB',
    values={
      place: [
        _train(on_disk, repetition, num_images, image_size).megabytes
        for repetition in range(num_repetitions)
      ]
      for place, on_disk in _PLACES.items()
    },
  )


def measure_rounds(
  num_repetitions: int, num_images: int = 20_000, image_size: int = 96
) -> measurement.Measurement:
  """Measures the rounds of the same runs.

  Args:
    num_repetitions: Runs of each kind.
    num_images: Images of clients, a multiple of 200.
    image_size: Their height and width.
  """
  return measurement.Measurement(
    name='image_rounds',
    description=f'A round: {_describe(num_images, image_size)}',
    unit='s',
    values={
      place: [
        seconds
        for repetition in range(num_repetitions)
        for seconds in _train(
          on_disk, repetition, num_images, image_size
        ).seconds
      ]
      for place, on_disk in _PLACES.items()
    },
  )


def create_model(task: image_task.ImageTask, seed: int) -> tf.keras.Model:
  """Creates a model that takes little time and memory itself."""
  initializer = tf.keras.initializers.GlorotUniform(seed)
  pixels = tf.keras.Input(task.image_shape)
  features = tf.keras.layers.Rescaling(1 / 255)(pixels)
  features = tf.keras.layers.Conv2D(
    8, 4, strides=4, activation='relu', kernel_initializer=initializer
  )(features)
  features = tf.keras.layers.GlobalAveragePooling2D()(features)
  logits = tf.keras.layers.Dense(
    task.num_classes, kernel_initializer=initializer
  )(features)
  return tf.keras.Model(pixels, logits)


def _describe(num_images: int, image_size: int) -> str:
  return (
    f'{num_images:,} images of {image_size}x{image_size}x3 at {_NUM_CLIENTS}'
    ' clients, ten in a round, with a small model'
  )


@functools.cache
def _train(
  on_disk: bool, repetition: int, num_images: int, image_size: int
) -> _Run:
  """Trains for some rounds; `repetition` tells runs of a kind apart."""
  with (
    tempfile.TemporaryDirectory() as folder,
    tempfile.TemporaryFile('r+') as log,
  ):
    photos = _write_photos(num_images, image_size)
    process = subprocess.Popen(
      [
        *(sys.executable, '-m', 'launch.train', 'semifl'),
        '--task=image_folder',
        f'--image_dir={photos.name}',
        f'--images_on_disk={str(on_disk).lower()}',
        '--model=benchmarks.image_storage:create_model',
        '--client_epochs=1',
        '--server_epochs=1',
        '--confidence_threshold=0.5',
        f'--total_rounds={_NUM_ROUNDS}',
        f'--output_dir={folder}',
        '--experiment_name=run',
      ],
      stdout=log,
      stderr=log,
    )
    peak = 0.0
    while process.poll() is None:
      peak = max(peak, _megabytes(process.pid))
      time.sleep(_SECONDS_BETWEEN_LOOKS)
    if process.wait():
      log.seek(0)
      raise RuntimeError(f'The program failed: {log.read()}')
    with pathlib.Path(folder, 'run', 'metrics.csv').open() as file:
      seconds = [float(row['seconds']) for row in csv.DictReader(file)]
  # The first two rounds build what the others use.
  return _Run(peak, seconds[2:])


def _megabytes(process_id: int) -> float:
  """Returns a process's own memory, 0 if it has ended."""
  try:
    status = pathlib.Path(f'/proc/{process_id}/status').read_text()
  except ProcessLookupError:
    return 0.0
  sizes = re.findall(r'^(?:RssAnon|RssShmem):\s*(\d+) kB', status, re.MULTILINE)
  return sum(map(int, sizes)) / 1e3


@functools.cache
def _write_photos(
  num_images: int, image_size: int
) -> tempfile.TemporaryDirectory:
  """Writes photos, and returns their folder, which goes with the program."""
  folder = tempfile.TemporaryDirectory()
  root = pathlib.Path(folder.name)
  for name in ('left', 'right'):
    _write(root / 'server' / name, _NUM_LABELED, image_size)
    _write(root / 'test' / name, _NUM_TEST, image_size)
  for client in range(_NUM_CLIENTS):
    _write(
      root / 'clients' / str(client), num_images // _NUM_CLIENTS, image_size
    )
  return folder


def _write(folder: pathlib.Path, number: int, image_size: int) -> None:
  folder.mkdir(parents=True)
  generator = np.random.default_rng(0)
  for index in range(number):
    pixels = generator.integers(256, size=(image_size, image_size, 3))
    image = PIL.Image.fromarray(pixels.astype(np.uint8))
    image.save(folder / f'{index}.bmp')
