# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of what is shown while training."""

import contextlib
import io
from unittest import mock

from absl.testing import absltest

from tff_semifl.programs import progress
from tff_semifl.programs import training


def _metrics(accuracy, label_ratio, seconds):
  return training.RoundMetrics(
    test=training.TestMetrics(accuracy, 0.0, accuracy),
    server=training.ServerMetrics(0.0, 0.0),
    client=training.ClientMetrics(0.0, 0.0, label_ratio, 0.0, 0.0, 0.0, 0.0),
    learning_rate=0.0,
    seconds=seconds,
  )


class _Terminal(io.StringIO):
  def isatty(self):
    return True


class ProgressTest(absltest.TestCase):
  def _show(self, stream, *rounds):
    with contextlib.redirect_stderr(stream):
      with progress.Progress('run', 10) as shown:
        shown.start(rounds[0][0])
        for round_num, metrics in rounds:
          shown.show_round(round_num, metrics)
    return stream.getvalue()

  def test_a_line_a_round_where_there_is_no_terminal(self):
    text = self._show(
      io.StringIO(),
      (0, _metrics(0.25, 0.0, 3.0)),
      (1, _metrics(0.5, 0.125, 5.0)),
    )
    # Ten rounds at 3 seconds are left, then nine at 5: the first round, which
    # is compiled, counts as long as there is no other.
    self.assertEqual(
      text,
      'run: compiling and running round 0\n'
      'run: round 0/10, accuracy 25.0%, labelled 0.0%, 00:30 left\n'
      'run: round 1/10, accuracy 50.0%, labelled 12.5%, 00:45 left\n',
    )

  def test_resumed_run_says_so_once(self):
    text = self._show(
      io.StringIO(), (4, _metrics(0, 0, 1)), (5, _metrics(0, 0, 1))
    )
    self.assertEqual(text.count('run: resumed after round 3\n'), 1)

  def test_a_bar_in_a_terminal(self):
    with mock.patch.dict('os.environ', {'COLUMNS': '100'}):
      text = self._show(
        _Terminal(), (0, _metrics(0.25, 0, 3)), (1, _metrics(0.5, 0.125, 5))
      )
    self.assertIn('2/11', text)
    self.assertIn('accuracy 50.0%, labelled 12.5%, 00:45 left', text)


if __name__ == '__main__':
  absltest.main()
