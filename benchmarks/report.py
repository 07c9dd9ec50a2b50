# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The report of a measuring program: tables, and a file of all numbers."""

from collections.abc import Iterable
import dataclasses
import json
import pathlib

from benchmarks import machine
from benchmarks import measurement
from tff_semifl import settings
from tff_semifl.cli import parts


@dataclasses.dataclass(frozen=True, kw_only=True)
class Report(settings.Settings):
  """The settings of a report."""

  output_file: str = settings.setting(
    'results/benchmark.json', 'File to write.'
  )
  repetitions: int = settings.setting(
    11, 'Times that each thing is measured.', settings.AT_LEAST_1
  )

  def open_file(self) -> pathlib.Path:
    """The path of the output file, after a check that it is writable."""
    path = parts.to_file(self.output_file)
    with parts.writing(path):
      path.touch()
    return path


def write(
  path: pathlib.Path, measurements: Iterable[measurement.Measurement]
) -> None:
  """Prints machine and measurements as tables, and writes everything as JSON.

  The file is rewritten after each measurement, so that an error loses nothing.
  """
  here = machine.describe()
  print(f'{here}\n')
  written = []
  for measured in measurements:
    written.append(dataclasses.asdict(measured))
    target = f' Target: {measured.target}.' if measured.target else ''
    print(
      f'{measured.description}.{target}\n\n{measured.table()}\n', flush=True
    )
    everything = {'machine': here._asdict(), 'measurements': written}
    path.write_text(json.dumps(everything, indent=2) + '\n')
  print(f'all numbers: {path}')
