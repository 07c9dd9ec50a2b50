# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""KerasCV, imported when it is needed, which takes seconds, and quietly."""

import contextlib
import importlib
import io
import types


def load() -> types.ModuleType:
  """Imports KerasCV, which prints a line on standard output."""
  with contextlib.redirect_stdout(io.StringIO()):
    return importlib.import_module('keras_cv')
