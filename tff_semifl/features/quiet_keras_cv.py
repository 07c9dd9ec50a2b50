# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Imports KerasCV on demand and quietly; the import takes seconds."""

import contextlib
import importlib
import io
import types


def load() -> types.ModuleType:
  """KerasCV, without the line that its import prints on standard output."""
  with contextlib.redirect_stdout(io.StringIO()):
    return importlib.import_module('keras_cv')
