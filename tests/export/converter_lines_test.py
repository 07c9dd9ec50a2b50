# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of hiding TFLite's lines alone."""

import os
import tempfile

from absl.testing import absltest

from tff_semifl.export import converter_lines


class ConverterLinesTest(absltest.TestCase):
  def test_errors_of_a_failing_block_appear_after_it(self):
    original = os.dup(2)
    self.addCleanup(os.close, original)
    with tempfile.TemporaryFile() as file:
      os.dup2(file.fileno(), 2)
      try:
        with self.assertRaises(RuntimeError), converter_lines.hidden():
          os.write(2, b'fully_quantize: 0, inference_type: 6\n')
          os.write(2, b'ERROR: no memory\n')
          raise RuntimeError
        os.write(2, b'later\n')
      finally:
        os.dup2(original, 2)
      file.seek(0)
      self.assertEqual(file.read(), b'ERROR: no memory\nlater\n')


if __name__ == '__main__':
  absltest.main()
