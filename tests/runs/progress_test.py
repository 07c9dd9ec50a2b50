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
      (0, some_metrics.create(0.25, 0.0, 3.0)),
      (1, some_metrics.create(0.5, 0.125, 5.0)),
    )
    # Ten rounds at 3 seconds are left, then nine at 5: the first round, which
    # is compiled, counts as long as there is no other.
    self.assertEqual(
      text,
      'run: compiling and running round 0\n'
      'run: round 0/10, accuracy 25.0%, pseudo-labeled 0.0%, 00:30 left\n'
      'run: round 1/10, accuracy 50.0%, pseudo-labeled 12.5%, 00:45 left\n',
    )

  def test_nobody_labels_anything(self):
    text = self._show(
      io.StringIO(), (0, some_metrics.create(0.25, float('nan'), 3.0))
    )
    self.assertIn('round 0/10, accuracy 25.0%, 00:30 left\n', text)

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
      (2, some_metrics.create(0, 0, 9)),
      (5, some_metrics.create(0, 0, 6)),
    )
    # Three rounds in 9 seconds, then three in 6: eight are left, then five.
    self.assertIn(
      'round 2/10, accuracy 0.0%, pseudo-labeled 0.0%, 00:24 left', text
    )
    self.assertIn(
      'round 5/10, accuracy 0.0%, pseudo-labeled 0.0%, 00:10 left', text
    )

  def test_run_that_was_complete_says_so(self):
    self.assertEqual(
      self._start(io.StringIO(), 11),
      'run: was complete after round 10; nothing to train\n',
    )


if __name__ == '__main__':
  absltest.main()
