# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of the use of a GPU for a limited time, with programs of one line."""

import contextlib
import io
import pathlib
import random
import sys
from unittest import mock

from absl.testing import absltest
import pytest

from benchmarks import device_profile
from benchmarks import gpu_stretch
from benchmarks import gpu_stretch_parts
from benchmarks import limited_process
from tff_semifl import settings

# Says that it runs, and then what becomes of it.
_SLEEP = """
import pathlib, signal, subprocess, sys, time
child = subprocess.Popen(['sleep', '100'])
if {stubborn}:
  for number in (signal.SIGINT, signal.SIGTERM):
    signal.signal(number, signal.SIG_IGN)
pathlib.Path(sys.argv[1]).write_text(str(child.pid))
try:
  time.sleep(100)
except KeyboardInterrupt:
  print('in order')
  sys.exit(130)
"""


def _is_running(pid: int) -> bool:
  try:
    state = pathlib.Path(f'/proc/{pid}/stat').read_text().rpartition(')')[2]
  except FileNotFoundError:
    return False
  return state.split()[0] != 'Z'


class LimitedProcessTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.folder = pathlib.Path(self.create_tempdir().full_path)

  def _run(self, code, seconds, *arguments):
    log = self.folder / 'log.txt'
    command = [sys.executable, '-c', code, *map(str, arguments)]
    return limited_process.run(command, seconds, log), log.read_text()

  def test_program_that_ends_by_itself(self):
    found, log = self._run('print(1)', 60)
    self.assertEqual((found.kind, found.exit_code, log), ('done', 0, '1\n'))
    found, log = self._run('print(2); raise SystemExit(3)', 60)
    # The log goes on.
    self.assertEqual(
      (found.kind, found.exit_code, log), ('failed', 3, '1\n2\n')
    )

  @pytest.mark.slow
  def test_limit_ends_the_program_in_order_or_kills_it_with_its_children(self):
    # Seconds enough to end in order, when other programs run.
    self.enter_context(mock.patch.object(limited_process, '_SECONDS_EACH', 2))
    for stubborn, exit_code, output in (
      (False, 130, 'in order\n'),
      (True, -9, ''),
    ):
      with self.subTest(stubborn=stubborn):
        pid = self.folder / f'pid_{stubborn}'
        (self.folder / 'log.txt').unlink(missing_ok=True)
        found, log = self._run(_SLEEP.format(stubborn=stubborn), 4.0, pid)
        self.assertEqual(
          (found.kind, found.exit_code, log), ('cut', exit_code, output)
        )
        self.assertBetween(found.seconds, 4.0, 50)
        self.assertFalse(_is_running(int(pid.read_text())))


class GPUStretchTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.output = pathlib.Path(self.create_tempdir().full_path, 'out')

  def _run(self, *parts, minutes=30.0):
    """Runs parts that are programs of one line; returns table and output."""
    self.enter_context(
      mock.patch.object(
        gpu_stretch_parts,
        'PARTS',
        tuple(
          gpu_stretch_parts.Part(
            name, 1, lambda *_, code=code: [sys.executable, '-c', code]
          )
          for name, code in (
            ('good', 'print(1)'),
            ('long', 'import time; time.sleep(100)'),
            ('bad', 'print("no such thing"); raise SystemExit(2)'),
          )
        ),
      )
    )
    stretch = settings.change(
      gpu_stretch.GPUStretch(),
      {
        'parts': parts,
        'minutes': minutes,
        'output_dir': str(self.output),
      },
    )
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
      gpu_stretch.main(stretch)
    return gpu_stretch._read(self.output), said.getvalue()

  def test_parts_are_cut_and_fail_one_by_one(self):
    self.enter_context(mock.patch.object(gpu_stretch, '_LEAST_SECONDS', 0.1))
    rows, said = self._run('bad', 'long:0.01', 'good')
    self.assertEqual(
      [(row.part, row.outcome) for row in rows],
      [('bad', 'failed'), ('long', 'cut'), ('good', 'done')],
    )
    self.assertEqual(rows[0].result, 'exit code 2: no such thing')
    self.assertBetween(float(rows[1].seconds), 0.6, 50)
    for row in rows:
      self.assertRegex(said, rf'\| {row.part} \| {row.outcome} \|')
    # The same command repeats what is not done.
    rows, _ = self._run('bad', 'good')
    self.assertEqual(
      [(row.part, row.outcome) for row in rows[3:]],
      [('bad', 'failed'), ('good', 'skipped')],
    )
    # Stopping the part needs more than half a minute.
    rows, _ = self._run('bad', minutes=0.5)
    self.assertEqual(rows[-1].outcome, 'skipped')

  def test_wrong_parts_are_named_before_any_begins(self):
    for text in ('other', 'good:0', 'good:x', 'good:nan'):
      with self.subTest(text):
        with self.assertRaisesRegex(settings.SettingError, '^parts=bad,'):
          self._run('bad', text)
    self.assertFalse(self.output.exists())


class OwnTimesTest(absltest.TestCase):
  def test_own_times_are_those_of_the_innermost_event(self):
    generator = random.Random(0)
    events = []

    def add(start, end, depth):
      """Adds an event, and events inside that may touch its ends."""
      events.append(
        device_profile.Event(f'{generator.randrange(4)}', start, end)
      )
      cuts = sorted(generator.randint(start, end) for _ in range(4))
      if depth < 4:
        for inner in (cuts[:2], cuts[2:]):
          if inner[0] < inner[1] and inner != [start, end]:
            add(*inner, depth + 1)

    for start in (0, 100, 250):
      add(start, start + 100, 0)
    expected = {}
    for instant in range(400):
      inside = [e for e in events if e.start <= instant < e.end]
      if inside:
        # An event inside another was added later.
        expected[inside[-1].name] = expected.get(inside[-1].name, 0) + 1
    self.assertGreater(len(events), 20)
    generator.shuffle(events)
    found = device_profile.find_own_times(events)
    self.assertEqual({k: v for k, v in found.items() if v}, expected)


if __name__ == '__main__':
  absltest.main()
