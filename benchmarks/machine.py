# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The machine of a measurement: processor, versions, load."""

import os
import pathlib
import platform
import re
from typing import NamedTuple

import tensorflow as tf


class Machine(NamedTuple):
  """The machine of a measurement.

  Attributes:
    processor: Name of the processor.
    num_cores: Cores that this program may use.
    gpus: Names of the GPUs that TensorFlow uses.
    tensorflow: Version of TensorFlow.
    python: Version of Python.
    load: Load average of the last minute. Above one per core, measured times
      are too long.
  """

  processor: str
  num_cores: int
  gpus: list[str]
  tensorflow: str
  python: str
  load: float

  def __str__(self) -> str:
    return (
      f'{", ".join([self.processor, *self.gpus])}; {self.num_cores} cores;'
      f' TensorFlow {self.tensorflow}, Python {self.python}; load'
      f' {self.load:.1f} before the start'
    )


def describe() -> Machine:
  """Describes this machine and its current load."""
  devices = tf.config.list_physical_devices('GPU')
  details = map(tf.config.experimental.get_device_details, devices)
  return Machine(
    processor=_processor(),
    num_cores=len(os.sched_getaffinity(0)),
    gpus=[each.get('device_name', 'GPU') for each in details],
    tensorflow=tf.__version__,
    python=platform.python_version(),
    load=os.getloadavg()[0],
  )


def _processor() -> str:
  information = pathlib.Path('/proc/cpuinfo').read_text()
  match = re.search(r'^model name\s*: (.+)$', information, re.MULTILINE)
  return match.group(1) if match else platform.machine()
