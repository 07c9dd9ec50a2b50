# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Lists the programs, or starts the one that the first argument names."""

from tff_semifl.cli import main

main.main()
