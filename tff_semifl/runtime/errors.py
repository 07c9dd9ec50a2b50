# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Errors of the runtimes."""


class ComputationError(RuntimeError):
  """Raised if a computation fails; the message says where, the cause why."""


class NotPortableError(RuntimeError):
  """Raised if code depends on the process that it was written in."""


class WorkerError(RuntimeError):
  """Raised if a worker process did not start, or was lost."""


class SiteError(WorkerError):
  """Raised if a site is missing, refuses a program, or fails to run it."""


class SiteAwayError(SiteError):
  """Raised if a site has left or is leaving the cluster."""


def reason(error: Exception) -> BaseException:
  """The cause of a `ComputationError`, else the error itself.

  Raising from this keeps a chain to one `ComputationError`.
  """
  if isinstance(error, ComputationError) and error.__cause__ is not None:
    return error.__cause__
  return error
