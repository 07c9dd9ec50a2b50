# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of the display of progress."""

import contextlib
import io

from absl.testing import absltest

from tests.runs import some_metrics
from tff_semifl.runs import progress


class ProgressTest(absltest.TestCase):
  def _start(self, stream, first_round, *rounds):
    with contextlib.redirect_stderr(stream):
      with progress.Progress('run', 10) as shown:
        shown.start(first_round)
        for round_num, shown_metrics in rounds:
          shown.show_round(round_num, shown_metrics)
    return stream.getvalue()

  def _show(self, stream, *rounds):
    return self._start(stream, 0, *rounds)

  def test_a_line_a_round_where_there_is_no_terminal(self):
    text = self._show(
      io.StringIO(),
      (0, some_metrics.create(0.25, float('nan'), 300.0)),
      (1, some_metrics.create(0.5, 0.125, 500.0)),
      (2, some_metrics.create(0.5, 1.0, 3.0)),
      (3, some_metrics.create(0.625, 1.0, 5.0)),
    )
    # Rounds 0 and 1 compile the parts of server and clients. The next two take
    # 4 seconds on average, and seven are left.
    self.assertEqual(
      text,
      'run: compiling and running round 0\n'
      'run: round 0/10, accuracy 25.0%\n'
      'run: round 1/10, accuracy 50.0%, pseudo-labeled 12.5%\n'
      'run: round 2/10, accuracy 50.0%, pseudo-labeled 100.0%\n'
      'run: round 3/10, accuracy 62.5%, pseudo-labeled 100.0%, 00:28 left\n',
    )

  def test_clients_that_train_on_all_labels_are_no_news(self):
    text = self._show(
      io.StringIO(),
      *((n, some_metrics.create(0.25, 1.0, 3.0)) for n in range(2)),
    )
    self.assertIn('round 1/10, accuracy 25.0%\n', text)

  def test_rejected_clients_without_whom_nobody_is_left(self):
    metrics = some_metrics.create(0.25, 0.5, 3.0)
    for counts, is_said in (((3, 0), True), ((3, 2), False), ((0, 0), False)):
      num_rejected, num_participating = counts
      client = metrics.client._replace(
        num_rejected=num_rejected, num_participating=num_participating
      )
      text = self._show(io.StringIO(), (0, metrics._replace(client=client)))
      self.assertEqual('3 clients rejected' in text, is_said)

  def test_resumed_run_says_so_once(self):
    text = self._start(
      io.StringIO(),
      4,
      (4, some_metrics.create(0, 0, 1)),
      (5, some_metrics.create(0, 0, 1)),
    )
    self.assertEqual(text.count('run: resumed after round 3\n'), 1)

  def test_rows_of_several_rounds(self):
    text = self._show(
      io.StringIO(),
      *((n, some_metrics.create(0, 0, n)) for n in (3, 6, 9)),
    )
    # Rounds 4 to 6 take 6 seconds, and those after them 9: four are left, then
    # one.
    for line in (
      'round 3/10, accuracy 0.0%, pseudo-labeled 0.0%\n',
      'round 6/10, accuracy 0.0%, pseudo-labeled 0.0%, 00:08 left\n',
      'round 9/10, accuracy 0.0%, pseudo-labeled 0.0%, 00:02 left\n',
    ):
      self.assertIn(line, text)

  def test_run_that_was_complete_says_so(self):
    self.assertEqual(
      self._start(io.StringIO(), 11),
      'run: was complete after round 10; nothing to train\n',
    )


if __name__ == '__main__':
  absltest.main()
