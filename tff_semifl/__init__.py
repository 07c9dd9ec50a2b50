# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Semi-supervised federated learning on TensorFlow Federated."""
