# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Command-line programs."""

from tff_semifl.cli import program

program.begin_if_run(__name__)
