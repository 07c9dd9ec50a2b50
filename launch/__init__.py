# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Programs."""

import os

# TensorFlow reads it when it is first imported, which is after this. Its
# remarks about the machine hide what a program says.
os.environ.setdefault('TF_CPP_MIN_LOG_LEVEL', '3')
