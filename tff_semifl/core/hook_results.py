# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Checks of what a method's hooks return."""

from collections.abc import Callable
import inspect
import traceback
from typing import Any

import tensorflow as tf
import tensorflow_federated as tff

from tff_semifl.settings import references


def scalar(hook: Callable[..., Any], value: Any) -> tf.Tensor:
  """The result of a hook that returns a float32 scalar, checked."""
  wanted = 'a float32 scalar'
  if hook.__name__ == 'loss':
    wanted += ', such as step.mean(values)'
  try:
    value = tf.convert_to_tensor(value)
  except (TypeError, ValueError) as error:
    raise wrong(hook, wanted, value) from error
  if value.dtype != tf.float32 or value.shape.rank != 0:
    raise wrong(hook, wanted, value)
  return value


def check_like(hook: Callable[..., Any], before: Any, after: Any) -> None:
  """Checks that a result has names, dtypes and shapes like an earlier one."""
  wanted = _type_of(before)
  try:
    found = _type_of(after)
  except (TypeError, ValueError) as error:
    raise wrong(hook, f'{_show(wanted)}, as before', after) from error
  if not wanted.is_assignable_from(found):
    raise wrong(hook, f'{_show(wanted)}, as before', _show(found))


def _type_of(structure: Any) -> tff.Type:
  tensors = tf.nest.map_structure(tf.convert_to_tensor, structure)
  return tff.types.to_type(
    tf.nest.map_structure(
      lambda each: tff.TensorType(each.dtype.as_numpy_dtype, each.shape),
      tensors,
    )
  )


def _show(found: tff.Type) -> str:
  return found.compact_representation()


def wrong(hook: Callable[..., Any], wanted: str, found: Any) -> TypeError:
  """The error of a hook, a bound method, that returns something else.

  `found` is what it returned: a tensor, a description, or any other object. A
  note has the user's line that defines the hook.
  """
  owner = type(getattr(hook, '__self__', hook))
  if isinstance(found, tf.Tensor):
    found = f'{found.dtype.name} {found.shape}'
  elif not isinstance(found, str):
    found = 'None' if found is None else f'a {type(found).__name__}'
  error = TypeError(
    f'{owner.__qualname__}: {hook.__name__} must return {wanted}, not {found}'
  )
  note_definition(error, hook)
  return error


def note_definition(error: Exception, hook: Callable[..., Any]) -> None:
  """Notes the user's line that defines a hook, or else the hook's class."""
  owner = type(getattr(hook, '__self__', hook))
  for defined in (inspect.unwrap(hook), owner):
    if references.is_of_library(defined):
      continue
    try:
      file = inspect.getsourcefile(defined) or ''
      _, line = inspect.getsourcelines(defined)
    except (OSError, TypeError):  # Code without a file.
      continue
    frame = traceback.FrameSummary(file, line, defined.__qualname__)
    text = ''.join(traceback.format_list([frame])).rstrip()
    error.add_note(text)
    return
