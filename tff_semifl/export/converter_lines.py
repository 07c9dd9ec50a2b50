# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Hides lines of TFLite's C++ code that report nothing to a user."""

from collections.abc import Iterator
import contextlib
import os
import sys
import tempfile

# TFLite writes these lines itself: no logger or option suppresses them.
_HIDDEN = (
  b'INFO: Created TensorFlow Lite XNNPACK delegate for CPU.',
  b'fully_quantize: ',
)
_STDERR = 2


@contextlib.contextmanager
def hidden() -> Iterator[None]:
  """Leaves TFLite's known lines out of standard error.

  All other lines, such as C++ errors, appear when the `with` block ends, also
  if it raises. Only output to file descriptor 2 matters, which Python's own
  `sys.stderr` may have been redirected from.
  """
  sys.stderr.flush()
  original = os.dup(_STDERR)
  try:
    with tempfile.TemporaryFile() as file:
      os.dup2(file.fileno(), _STDERR)
      try:
        yield
      finally:
        sys.stderr.flush()
        os.dup2(original, _STDERR)
        file.seek(0)
        for line in file:
          if not line.startswith(_HIDDEN):
            os.write(_STDERR, line)
  finally:
    os.close(original)
