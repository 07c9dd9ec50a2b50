# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Kills a training program over and over again, and compares what it left.

  python -m tests.launch.kill_many --system=semifl --kills=20

trains on digits once without and once with that many kills, some of them while
a checkpoint is written. The tables of metrics and the final numbers must be the
same to the last bit. It takes about ten seconds a kill; the test suite does the
like with a smaller program.
"""

from collections.abc import Sequence
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import time

from absl import app
from absl import flags

from tests.runs import saved_run

_SYSTEM = flags.DEFINE_string(
  'system',
  'semifl',
  'What to train. Its flags may follow after --, instead of those with which'
  ' SemiFL takes no time.',
)
_KILLS = flags.DEFINE_integer('kills', 20, 'Kills.', lower_bound=1)
_SEED = flags.DEFINE_integer('seed', 0, 'Of the moments of the kills.')

_SMALL = (
  '--task=digits',
  '--num_clients=10',
  '--clients_per_round=2',
  '--client_epochs=1',
  '--server_epochs=1',
  '--confidence_threshold=0.2',
  '--model_width=1',
  '--keep_client_momentum',
)
_ROOT = pathlib.Path(__file__).parents[2]


def main(argv: Sequence[str]) -> None:
  """Runs the program, after flags were parsed."""
  program_flags = argv[1:] or _SMALL
  generator = random.Random(_SEED.value)
  with tempfile.TemporaryDirectory() as folder:
    whole, killed = (pathlib.Path(folder, name) for name in ('whole', 'killed'))
    _finish(_start(whole, program_flags))
    expected = saved_run.read(whole / 'small')
    print(f'{len(expected.rows)} rounds without a kill')
    for kill in range(1, _KILLS.value + 1):
      process = _start(killed, program_flags)
      what = _kill_at_some_moment(process, killed / 'small', generator)
      if process.returncode == 0:
        sys.exit(f'it was complete after {kill - 1} kills; add rounds')
      print(f'{kill}: {what}, {_list_checkpoints(killed / "small")}')
    _finish(_start(killed, program_flags))
    found = saved_run.read(killed / 'small')
    for name in expected._fields:
      if getattr(found, name) != getattr(expected, name):
        sys.exit(f'{name} differ')
    print(f'{len(found.rows)} rows and {len(found.arrays)} arrays are the same')


def _start(
  folder: pathlib.Path, program_flags: Sequence[str]
) -> subprocess.Popen:
  return subprocess.Popen(
    [
      sys.executable,
      '-m',
      'launch.train',
      _SYSTEM.value,
      *program_flags,
      # More than are trained from one kill to the next.
      f'--total_rounds={2 * _KILLS.value}',
      '--experiment_name=small',
      f'--output_dir={folder}',
    ],
    cwd=_ROOT,
    stdout=subprocess.DEVNULL,
    stderr=subprocess.PIPE,
    text=True,
  )


def _finish(process: subprocess.Popen) -> None:
  _, errors = process.communicate()
  if process.returncode:
    sys.exit(errors)


def _kill_at_some_moment(
  process: subprocess.Popen,
  folder: pathlib.Path,
  generator: random.Random,
) -> str:
  """Kills the program and returns when: at a start, in a round or in a save."""
  kind = generator.choice(['start', 'round', 'save', 'save'])
  if kind == 'start':
    after = generator.uniform(0, 10)
  else:
    after = generator.uniform(0, 0.5 if kind == 'round' else 0.005)
    # The first line that says so ends a round.
    for line in process.stderr:
      if re.search(r'round \d+/', line):
        break
    if kind == 'save':
      while process.poll() is None and not list(
        folder.glob('checkpoints/*.temporary')
      ):
        time.sleep(0.0001)
  time.sleep(after)
  process.kill()
  process.communicate()
  return f'{kind}, {after:.3f} s'


def _list_checkpoints(folder: pathlib.Path) -> str:
  found = sorted(path.name for path in folder.glob('checkpoints/*'))
  return ' '.join(name.removeprefix('program_state_') for name in found)


if __name__ == '__main__':
  app.run(main)
