# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Command-line programs."""

import sys

from tff_semifl.cli import program

# The first argument while Python searches for the module to run.
if sys.argv[:1] == ['-m']:
  program.begin()
