# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Errors of the runtimes."""


class ComputationError(RuntimeError):
  """Raised if a computation fails; `__cause__` is the original error."""


class NotPortableError(RuntimeError):
  """Raised if code can only run in the process that defines it."""


class WorkerError(RuntimeError):
  """Raised if a worker process does not start, or is lost."""


class SiteError(WorkerError):
  """Raised if a site is missing, refuses a program, or fails to run it."""


class SiteAwayError(SiteError):
  """Raised if a site has left or is leaving the cluster."""


def reason(error: Exception) -> BaseException:
  """The cause of a `ComputationError`; any other error itself.

  `raise ... from reason(error)` does not chain several `ComputationError`s.
  """
  if isinstance(error, ComputationError) and error.__cause__ is not None:
    return error.__cause__
  return error
