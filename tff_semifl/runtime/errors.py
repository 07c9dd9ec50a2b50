# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The errors of the runtimes."""


class ComputationError(RuntimeError):
  """A computation failed; the message says where, the cause says why."""


class WorkerError(RuntimeError):
  """The worker process did not start, or has gone away."""
