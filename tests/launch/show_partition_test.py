# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of the real program: output, figures and errors."""

import pathlib

from absl.testing import absltest
import PIL.Image

from tests import forked_programs


def _run(*arguments):
  return forked_programs.run('launch.show_partition', *arguments)


class ShowPartitionTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    folder = pathlib.Path(self.create_tempdir().full_path)
    self._output_file = folder / 'new' / 'partition.png'

  def test_iid(self):
    # 1,437 digits for training, less 50: 1,387 = 10 * 138 + 7.
    svg_file = self._output_file.with_suffix('.svg')
    completed = _run(
      '--num_clients=10', f'--output_file={self._output_file},{svg_file}'
    )
    self.assertEqual(completed.returncode, 0, completed.stderr)
    *lines, skew, note, fig, svg = completed.stdout.splitlines()
    self.assertEqual(
      lines,
      [
        'digits, iid, 10 clients, seed 0',
        'images with labels: 50',
        'images without: 1387, of which 7 with no client',
        'images per client: 138 at least, 138 in the median, 138 at most',
      ],
    )
    # Of 138 draws the fraction of a class has a standard deviation of
    # sqrt(0.1 * 0.9 / 138) = 0.026; two differ by 0.026 * 2 / sqrt(pi) = 0.029
    # on average, and R is half of ten of these.
    self.assertRegex(note, '^note: 7 of 1387 images have no client')
    self.assertRegex(skew, r'^R, from 0 .* to 1 .*: 0\.1\d\d$')
    self.assertEqual(fig, f'figure: {self._output_file}')
    self.assertEqual(svg, f'figure: {svg_file}')
    self.assertIn('<svg', svg_file.read_text())
    with PIL.Image.open(self._output_file) as image:
      self.assertGreater(min(image.size), 300)


if __name__ == '__main__':
  absltest.main()
