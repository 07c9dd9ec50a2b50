# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Messages and progress bars of long computations, on standard error.

absl's --verbosity=-1 turns both off.
"""

from collections.abc import Callable
import sys

from absl import flags
import tqdm

Say = Callable[[str], None]


def to_stderr(line: str) -> None:
  """Prints a line, unless --verbosity is negative."""
  if not _is_quiet():
    print(line, file=sys.stderr, flush=True)


def create_bar(total: int, what: str, num_before: int = 0) -> tqdm.tqdm:
  """A progress bar of images, shown after a second, and on terminals only."""
  return tqdm.tqdm(
    total=total,
    desc=what,
    initial=num_before,
    unit=' images',
    delay=1,
    disable=True if _is_quiet() else None,
  )


def _is_quiet() -> bool:
  verbosity = flags.FLAGS['verbosity']
  return verbosity.present and verbosity.value < 0
