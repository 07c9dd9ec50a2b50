# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Command-line programs."""

import gc
import os

# TensorFlow reads this variable when it is first imported, which happens later.
# Its remarks about the machine would bury the output of a program.
os.environ.setdefault('TF_CPP_MIN_LOG_LEVEL', '3')

# The number of new objects after which Python searches for unreachable cycles.
# Imports and graphs create millions of objects that stay alive: with Python's
# default of 700, the search takes a tenth of the time until training begins.
gc.set_threshold(100_000)
