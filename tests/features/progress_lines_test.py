# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of lines on progress."""

from absl.testing import absltest

from tff_semifl.features import progress_lines


class ProgressLinesTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self._now = 100.0
    self._lines = []

  def _create(self, total, **kwargs):
    return progress_lines.ProgressLines(
      total, self._lines.append, clock=lambda: self._now, **kwargs
    )

  def _advance(self, progress, seconds, number):
    self._now += seconds
    progress.advance(number)

  def test_says_rate_and_time_left_every_five_seconds(self):
    progress = self._create(10_000)
    self._advance(progress, 3, 300)
    self._advance(progress, 2, 700)
    self._advance(progress, 4.9, 500)
    self._advance(progress, 0.1, 500)
    self.assertEqual(
      self._lines,
      [
        'features: 1,000 of 10,000 images, 200 images/s, 00:45 left',
        'features: 2,000 of 10,000 images, 200 images/s, 00:40 left',
      ],
    )

  def test_leaves_out_of_the_rate_what_was_done_before(self):
    progress = self._create(1_000, num_before=900)
    self._advance(progress, 10, 20)
    self._advance(progress, 30, 80)
    progress.finish()
    self.assertEqual(
      self._lines,
      [
        'features: 920 of 1,000 images, 2 images/s, 00:40 left',
        'features: 100 images in 00:40, 2.5 images/s',
      ],
    )

  def test_says_nothing_of_the_last_image_but_the_end(self):
    progress = self._create(5)
    self._advance(progress, 10, 5)
    self.assertEmpty(self._lines)


if __name__ == '__main__':
  absltest.main()
