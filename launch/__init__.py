# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Programs."""

import gc
import os

# TensorFlow reads it when it is first imported, which is after this. Its
# remarks about the machine hide what a program says.
os.environ.setdefault('TF_CPP_MIN_LOG_LEVEL', '3')

# Objects that have to come into being before Python looks for dead cycles among
# the youngest. Imports, and then graphs, make millions that stay alive: with
# Python's 700, that search is a tenth of the time until training begins.
gc.set_threshold(100_000)
