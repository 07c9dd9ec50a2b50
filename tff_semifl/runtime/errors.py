# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Errors of the runtimes."""

import re

import tensorflow as tf
import tensorflow_federated as tff

_MAX_TYPE_LENGTH = 80
# Parts of TensorFlow's messages that do not describe the error.
_NO_NEWS = re.compile(
  r'^Graph execution error:\n+|Detected at node .*\n<stack traces.*>\n'
  r'| \[Op:\w+\]'
)


class ComputationError(RuntimeError):
  """A computation failed; `__cause__` is the original error."""


class NotPortableError(RuntimeError):
  """Code can run only in this process, because it calls Python."""


class WorkerError(RuntimeError):
  """A worker process did not start, or was lost."""


class SiteError(WorkerError):
  """A site is missing, refuses a program, or failed to run a program."""


class SiteAwayError(SiteError):
  """A site has left or is leaving the cluster."""


def reason(error: Exception) -> BaseException:
  """The cause of a `ComputationError`; other errors are returned unchanged.

  `raise ... from reason(error)` avoids a chain of several `ComputationError`s.
  """
  if isinstance(error, ComputationError) and error.__cause__ is not None:
    return error.__cause__
  return error


def of_code(code_type: tff.Type, error: tf.errors.OpError) -> ComputationError:
  """Converts a TensorFlow error; a short `code_type` is in the message."""
  shown = f' of type {code_type.compact_representation()}'
  # Types of models can have thousands of characters.
  if len(shown) > _MAX_TYPE_LENGTH:
    shown = ''
  return ComputationError(
    f'TensorFlow code{shown} failed: {_NO_NEWS.sub("", error.message)}'
  )
