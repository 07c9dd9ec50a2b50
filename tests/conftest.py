# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""What pytest needs to run tests that absl's own main would run."""

from absl import flags

# absl's main would parse them; under pytest each keeps its default.
flags.FLAGS.mark_as_parsed()
