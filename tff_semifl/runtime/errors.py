# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Errors of the runtimes."""

import re

import tensorflow as tf
import tensorflow_federated as tff

_MAX_TYPE_LENGTH = 80
# Parts of TensorFlow's messages that do not name the error.
_NO_NEWS = re.compile(
  r'^Graph execution error:\n+|Detected at node .*\n<stack traces.*>\n'
  r'| \[Op:\w+\]'
)


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


def of_code(code_type: tff.Type, error: tf.errors.OpError) -> ComputationError:
  """Converts a TensorFlow error; the message has `code_type` if it is short."""
  shown = f' of type {code_type.compact_representation()}'
  # Types of models have thousands of characters.
  if len(shown) > _MAX_TYPE_LENGTH:
    shown = ''
  return ComputationError(
    f'TensorFlow code{shown} failed: {_NO_NEWS.sub("", error.message)}'
  )
