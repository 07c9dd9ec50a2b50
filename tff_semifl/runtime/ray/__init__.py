# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The Ray runtime and sites: the only folder that imports Ray."""
