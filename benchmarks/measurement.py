# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The result of a benchmark, and interleaved timing of alternatives."""

from collections.abc import Callable, Mapping
import contextlib
import dataclasses
import statistics
import time

import tensorflow_federated as tff

from tff_semifl.results import markdown


@dataclasses.dataclass(frozen=True, kw_only=True)
class Measurement:
  """Interleaved measurements of alternatives.

  Attributes:
    name: Name in the file of results.
    description: What is measured.
    unit: Unit of the values.
    values: For each alternative, one number per repetition.
    compared_with: The alternative to compare with: values of other alternatives
      are divided by its value in the same repetition. None for no comparison.
    target: What the numbers should be, in words; may be empty.
  """

  name: str
  description: str
  unit: str
  values: Mapping[str, list[float]]
  compared_with: str | None = None
  target: str = ''

  def ratios(self, alternative: str) -> list[float]:
    """An alternative's values, divided by those of `compared_with`."""
    base = self.values[self.compared_with]
    return [
      value / other
      for value, other in zip(self.values[alternative], base, strict=True)
    ]

  def table(self) -> str:
    """Medians and extremes as a Markdown table."""
    heading = ['', f'median ({self.unit})', 'least', 'most']
    if self.compared_with is not None:
      heading.append(f'by {self.compared_with}')
    rows = []
    for alternative, values in self.values.items():
      row = [
        alternative,
        *map(_show, (statistics.median(values), min(values), max(values))),
      ]
      if self.compared_with is not None:
        row.append(f'{statistics.median(self.ratios(alternative)):.2f}')
      rows.append(row)
    return markdown.table(heading, rows)


def in_context(
  context: tff.framework.SyncContext, call: Callable[[], object]
) -> Callable[[], None]:
  """A function that runs `call` with `context` as TFF's default context."""

  def run() -> None:
    with contextlib.ExitStack() as stack:
      former = tff.framework.get_context_stack().current
      stack.callback(tff.framework.set_default_context, former)
      tff.framework.set_default_context(context)
      call()

  return run


def time_alternately(
  alternatives: Mapping[str, Callable[[], None]],
  num_repetitions: int,
  clock: Callable[[], float] = time.perf_counter,
) -> dict[str, list[float]]:
  """The seconds of interleaved calls of functions, after one call to warm up.

  Interleaving spreads the load by other programs evenly over the functions.
  """
  for call in alternatives.values():
    call()
  seconds = {name: [] for name in alternatives}
  for _ in range(num_repetitions):
    for name, call in alternatives.items():
      start = clock()
      call()
      seconds[name].append(clock() - start)
  return seconds


def _show(number: float) -> str:
  """A number with about three significant digits."""
  if number >= 1000:
    return f'{number:,.0f}'
  return f'{number:.3g}'
