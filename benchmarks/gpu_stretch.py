# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

r"""Runs parts of the benchmarks on a GPU that is available for a limited time.

  python -m benchmarks.gpu_stretch --parts=side_by_side,profile:3,cell:9 \
    --minutes=25 --data_dir=tensorflow_datasets

Parts run one after the other, each in its own process. A part is interrupted at
its time limit, and its runs keep the last complete round. If a part fails, the
next part starts. After each part, --output_dir has the results and the packed
unfinished runs: with a copy of this folder, the same command resumes on another
machine. Complete parts are not repeated. --tiny tries everything on a CPU.
"""

from collections.abc import Iterator, Sequence
import csv
import dataclasses
import datetime
import pathlib
import shutil
import time
from typing import NamedTuple

from benchmarks import gpu_stretch_parts
from benchmarks import limited_process
from benchmarks import packed_experiment
from tff_semifl import settings
from tff_semifl.cli import program
from tff_semifl.files import durable_files
from tff_semifl.results import markdown

_TABLE = 'stretch.csv'
_LOG = 'log.txt'
# To stop a part, and to pack its runs.
_SECONDS_AFTER_PART = limited_process.SECONDS_TO_STOP + 15
_LEAST_SECONDS = 5
_DEFAULT_PARTS = tuple(
  f'{each.name}:{each.minutes:g}' for each in gpu_stretch_parts.PARTS
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class GPUStretch(settings.Settings):
  """The settings of this program."""

  parts: tuple[str, ...] = settings.setting(
    _DEFAULT_PARTS,
    'Parts in order, separated by commas: NAME, or NAME:MINUTES with its limit.'
    f' By default {",".join(_DEFAULT_PARTS)}.',
  )
  minutes: float = settings.setting(
    30.0,
    'Limit of everything, from the end of the imports on.',
    settings.ABOVE_0,
  )
  output_dir: str = settings.setting(
    'results/gpu_stretch', 'Folder to take along: results and packed runs.'
  )
  runs_dir: str | None = settings.setting(
    None,
    'Folder of runs, by default --output_dir with _runs at its end. Runs that'
    ' it lacks are unpacked from --output_dir.',
  )
  sizes: gpu_stretch_parts.Sizes = gpu_stretch_parts.Sizes()


class Row(NamedTuple):
  """A row of the table `stretch.csv`.

  Attributes:
    started: Time of the start (UTC).
    part: Name of the part.
    outcome: 'done', 'cut', 'failed' or 'skipped'.
    seconds: How long the part ran.
    limit: The part's limit in seconds; 0 for a skipped part.
    result: What the part left, or why it ended.
  """

  started: str
  part: str
  outcome: str
  seconds: float
  limit: float
  result: str


def read_parts(
  texts: Sequence[str],
) -> list[tuple[gpu_stretch_parts.Part, float]]:
  """The chosen parts, with their limits in seconds."""
  known = {each.name: each for each in gpu_stretch_parts.PARTS}
  chosen = []
  with settings.blame('parts', ','.join(texts)):
    for text in texts:
      name, _, minutes = text.partition(':')
      if name not in known:
        raise ValueError(f'{name!r} is none of {", ".join(known)}')
      try:
        seconds = 60 * float(minutes or known[name].minutes)
      except ValueError:
        seconds = 0.0
      if not 0 < seconds < float('inf'):
        raise ValueError(f'{text!r} must be {name}:MINUTES, such as {name}:5')
      chosen.append((known[name], seconds))
  return chosen


def main(stretch: GPUStretch) -> None:
  """Runs the parts, and prints a table of outcomes."""
  end = time.monotonic() + 60 * stretch.minutes
  chosen = read_parts(stretch.parts)
  stretch.sizes.check()
  output = pathlib.Path(stretch.output_dir)
  with settings.blame('output_dir', stretch.output_dir, OSError, ValueError):
    output.mkdir(parents=True, exist_ok=True)
    done = {row.part for row in _read(output) if row.outcome == 'done'}
  rows = []
  for part, limit in chosen:
    limit = min(limit, end - time.monotonic() - _SECONDS_AFTER_PART)
    started = f'{datetime.datetime.now(datetime.UTC):%F %T}'
    reason = None
    if part.name in done:
      reason = f'{output / _TABLE} says that it is done'
    elif limit < _LEAST_SECONDS:
      reason = f'--minutes={stretch.minutes:g} are over'
    if reason is None:
      print(f'{started} {part.name}: at most {limit:.0f} s', flush=True)
      row = Row(started, part.name, *_run(part, limit, stretch))
      print(f'  {row.outcome} after {row.seconds:.0f} s: {row.result}')
    else:
      row = Row(started, part.name, 'skipped', 0.0, 0.0, reason)
    rows.append(row)
    _append(output, row)
  print()
  print(
    markdown.table(
      ['part', 'outcome', 'seconds', 'limit', 'result'],
      [
        [row.part, row.outcome, f'{row.seconds:.0f}', f'{row.limit:.0f}']
        + [row.result]
        for row in rows
      ],
    )
  )
  print(f'table: {output / _TABLE}')


def _run(
  part: gpu_stretch_parts.Part, limit: float, stretch: GPUStretch
) -> tuple[str, float, float, str]:
  """Runs a part; returns outcome, seconds, limit and result of its row."""
  results = pathlib.Path(stretch.output_dir, part.name)
  runs = pathlib.Path(
    stretch.runs_dir or f'{stretch.output_dir.rstrip("/")}_runs', part.name
  )
  log = results / _LOG
  try:
    results.mkdir(parents=True, exist_ok=True)
    _unpack(results, runs)
    try:
      outcome = limited_process.run(
        part.command(stretch.sizes, results, runs), limit, log
      )
    finally:
      packed = [*_pack(runs, results)]
  except (OSError, durable_files.OutputError) as error:
    return 'failed', 0.0, limit, str(error)
  told = '; '.join(packed)
  if outcome.kind == 'failed':
    lines = log.read_text(errors='replace').split('\n')
    last = next((line for line in reversed(lines) if line.strip()), '')
    told = f'exit code {outcome.exit_code}: {last.strip()}'
  return outcome.kind, outcome.seconds, limit, told or f'see {log}'


def _unpack(results: pathlib.Path, runs: pathlib.Path) -> None:
  """Unpacks the runs that are only in the folder of results."""
  for path in sorted(results.glob(f'*{packed_experiment.SUFFIX}')):
    folder = runs / path.name.removesuffix(packed_experiment.SUFFIX)
    if not folder.exists():
      packed_experiment.unpack(path, folder)


def _pack(runs: pathlib.Path, results: pathlib.Path) -> Iterator[str]:
  """Packs each unfinished run, and yields its last round and size as text."""
  for path in results.glob(f'*{packed_experiment.SUFFIX}'):
    if not (runs / path.name.removesuffix(packed_experiment.SUFFIX)).exists():
      path.unlink()  # The run is complete, and was removed.
  for folder in sorted(runs.glob('*/')):
    path = results / f'{folder.name}{packed_experiment.SUFFIX}'
    round_num = packed_experiment.pack(folder, path)
    if round_num is not None:
      shutil.copyfile(folder / 'metrics.csv', results / f'{folder.name}.csv')
      megabytes = path.stat().st_size / 1e6
      yield f'{folder.name} after round {round_num}, {megabytes:.1f} MB'


def _read(output: pathlib.Path) -> list[Row]:
  path = output / _TABLE
  if not path.exists():
    return []
  with path.open(newline='') as file:
    heading, *rows = csv.reader(file)
  if tuple(heading) != Row._fields or any(len(row) != 6 for row in rows):
    raise ValueError(f'{path} is no table of this program')
  return [Row(*row) for row in rows]


def _append(output: pathlib.Path, row: Row) -> None:
  path = output / _TABLE
  rows = [Row._fields] if not path.exists() else []
  cells = [f'{x:.1f}' if isinstance(x, float) else x for x in row]
  with path.open('a', newline='') as file:
    csv.writer(file, lineterminator='\n').writerows([*rows, cells])


if __name__ == '__main__':
  program.run(
    main,
    GPUStretch(),
    interrupted=f'{program.INTERRUPTED}; the same command goes on',
  )
