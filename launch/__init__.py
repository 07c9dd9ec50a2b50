# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Command-line programs."""

import sys

from tff_semifl.cli import program

# Python has this argument while it looks for a module to run.
if sys.argv[:1] == ['-m']:
  program.begin()
