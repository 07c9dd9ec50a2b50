# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The errors of the runtimes."""


class ComputationError(RuntimeError):
  """Raised if a computation fails; the message says where, the cause why."""


class NotPortableError(RuntimeError):
  """Raised if code needs the process in which it was written."""


class WorkerError(RuntimeError):
  """Raised if a worker process did not start, or has gone away."""


class SiteError(WorkerError):
  """Raised if a site is missing, refuses what it is to do, or cannot do it."""


class SiteAwayError(SiteError):
  """Raised if a site has left, or is about to: its images are gone."""


def reason(error: Exception) -> BaseException:
  """The cause of an error that says more of where it happened.

  Args:
    error: The error that says less: itself, unless it is a `ComputationError`
      that has a cause. So a chain has one of these.
  """
  if isinstance(error, ComputationError) and error.__cause__ is not None:
    return error.__cause__
  return error
