# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0
