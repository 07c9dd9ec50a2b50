# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The instructions of functions, and the global values that they use."""

from collections.abc import Iterator, Sequence
import dis
import types
from typing import Any

from tff_semifl.settings import references


def find_codes(code: types.CodeType) -> Iterator[types.CodeType]:
  """Yields a code object and those of the functions inside."""
  yield code
  for each in code.co_consts:
    if isinstance(each, types.CodeType):
      yield from find_codes(each)


def find_globals(
  function: types.FunctionType, codes: Sequence[types.CodeType]
) -> Iterator[tuple[str, Any]]:
  """Yields names and values of the globals that a function uses."""
  used, attributes = set(), set()
  for code in codes:
    for each in dis.get_instructions(code):
      if each.opname in ('LOAD_GLOBAL', 'LOAD_NAME'):
        used.add(each.argval)
      elif each.opname in ('LOAD_ATTR', 'LOAD_METHOD'):
        attributes.add(each.argval)
  for name in sorted(used & function.__globals__.keys()):
    value = function.__globals__[name]
    yield name, value
    if isinstance(value, types.ModuleType) and not (
      references.is_library(value.__name__)
    ):
      for attribute in sorted(attributes & vars(value).keys()):
        yield f'{name}.{attribute}', vars(value)[attribute]


def read(code: types.CodeType) -> list[Any]:
  """What code does, without lines, docstrings and names of variables.

  Indices of constants and names are replaced by what they stand for.
  """
  return [
    (code.co_argcount, code.co_kwonlyargcount, code.co_flags),
    code.co_exceptiontable,
    *(
      (each.opname, each.argval)
      if each.opcode in dis.hasconst or each.opcode in dis.hasname
      else (each.opname, each.arg)
      for each in dis.get_instructions(code)
    ),
  ]
