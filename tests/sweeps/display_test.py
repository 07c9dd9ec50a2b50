# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of the display of a running sweep."""

import contextlib
import io
import pathlib

from absl.testing import absltest

from tff_semifl.sweeps import display
from tff_semifl.sweeps import entries
from tff_semifl.sweeps import experiments

_METRICS = """\
round,test/accuracy,test/best_accuracy,seconds
0,0.5,0.5,60
1,0.25,0.5,30
"""
_REACHED = 'accuracy 25.0% after round 1, best 50.0%, 1.5 minutes'


class _Terminal(io.StringIO):
  def isatty(self):
    return True


class DisplayTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    folder = pathlib.Path(self.create_tempdir().full_path)
    self.experiments = []
    for name in ('a', 'b'):
      (folder / name).mkdir()
      (folder / name / 'metrics.csv').write_text(_METRICS)
      (folder / f'{name}.log').write_text(
        ''.join(f'line {number}\n' for number in range(1, 21))
      )
      self.experiments.append(
        experiments.Experiment(
          name=name,
          command=(),
          log_path=folder / f'{name}.log',
          entry=entries.Entry('semifl_f', 'semifl', 'f', None),
          folder=folder / name,
          total_rounds=1,
        )
      )

  def _show(self, use, *, stream=None, quiet=False):
    stream = stream or io.StringIO()
    with contextlib.redirect_stderr(stream):
      use(display.Display(self.experiments, quiet=quiet), *self.experiments)
    return stream.getvalue()

  def _run(self, shown, first, second):
    shown.skip(first)
    shown.start(second)
    shown.poll([second])
    shown.end(second, 0)

  def test_lines(self):
    self.assertEqual(
      self._show(self._run).splitlines(),
      [
        f'[1/2] a: was complete; {_REACHED}',
        f'[2/2] b: started, log: {self.experiments[1].log_path}',
        f'[2/2] b: {_REACHED}',
      ],
    )

  def test_bars_in_a_terminal(self):
    text = self._show(self._run, stream=_Terminal())
    self.assertIn(f'[1/2] a: was complete; {_REACHED}', text)
    self.assertRegex(text, rf'\[2/2\] b.* 2/2, {_REACHED}')
    self.assertEndsWith(text, '\n')

  def test_quiet(self):
    self.assertEmpty(self._show(self._run, quiet=True))

  def test_failure_is_always_shown_with_the_end_of_the_log(self):
    for exit_code, how in ((1, 'exit code 1'), (-9, r'signal 9 \(Killed\)')):
      for stream, quiet in ((None, True), (None, False), (_Terminal(), False)):

        def fail(shown, first, second, exit_code=exit_code):
          shown.start(first)
          shown.start(second)
          shown.end(second, exit_code)
          shown.interrupt([first])

        text = self._show(fail, stream=stream, quiet=quiet)
        # Ten of twenty lines.
        self.assertRegex(
          text,
          rf'\[2/2\] b: failed with {how}; the end of its log \S+b.log:\n'
          r'  line 11\n(  line \d+\n){8}  line 20\n',
        )
        self.assertIn('ending a; interrupt again', text)


if __name__ == '__main__':
  absltest.main()
