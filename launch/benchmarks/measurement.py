# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""What a benchmark has measured, and how alternatives are compared in time."""

from collections.abc import Callable, Mapping
import dataclasses
import statistics
import time


@dataclasses.dataclass(frozen=True, kw_only=True)
class Measurement:
  """Numbers of alternatives, measured in turns.

  Attributes:
    name: What it is called in the file.
    description: What is measured, and its unit.
    values: For each alternative one number for each repetition.
  """

  name: str
  description: str
  values: Mapping[str, list[float]]

  def table(self) -> str:
    """Returns medians and extremes as a Markdown table."""
    lines = ['| | median | least | most |', '| --- | --- | --- | --- |']
    for alternative, values in self.values.items():
      numbers = (statistics.median(values), min(values), max(values))
      shown = ' | '.join(f'{number:,.0f}' for number in numbers)
      lines.append(f'| {alternative} | {shown} |')
    return '\n'.join(lines)


def time_in_turns(
  alternatives: Mapping[str, Callable[[], None]],
  num_repetitions: int,
  clock: Callable[[], float] = time.perf_counter,
) -> dict[str, list[float]]:
  """Returns how many seconds calls of each take, after one to warm up.

  What else the machine does comes and goes: in turns, it meets all alike.

  Args:
    alternatives: What to call, by name.
    num_repetitions: Times to call each.
    clock: Returns the time in seconds.
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
