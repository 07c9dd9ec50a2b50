# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests which parts of KerasCV are imported."""

import subprocess
import sys

from absl.testing import absltest

_IMPORT = """
import sys
from tff_semifl.augment import keras_cv_policy
def find_loaded():
  names = 'keras_cv', 'keras_cv.src.models', 'matplotlib.pyplot'
  return [name for name in names if name in sys.modules]
keras_cv_policy.create_operations(0.5, 0.1)
used = sys.modules['keras_cv.src.layers'].Equalization
loaded = find_loaded()
sys.stdout, stdout = sys.stderr, sys.stdout
import keras_cv
print(loaded, find_loaded(), keras_cv.layers.Equalization is used, file=stdout)
"""


class ImportTest(absltest.TestCase):
  def test_imports_layers_alone_and_keras_cv_can_be_imported_later(self):
    found = subprocess.check_output(
      [sys.executable, '-c', _IMPORT], text=True, timeout=100
    )
    self.assertEqual(
      found,
      "[] ['keras_cv', 'keras_cv.src.models', 'matplotlib.pyplot'] True\n",
    )


if __name__ == '__main__':
  absltest.main()
