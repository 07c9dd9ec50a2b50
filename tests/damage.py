# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Damages files as failing disks, faulty programs and users do."""

import functools

import hypothesis
from hypothesis import strategies

# The same examples in each run, with a time limit: a program must not hang on a
# wrong file.
settings = functools.partial(
  hypothesis.settings,
  derandomize=True,
  deadline=10_000,
  suppress_health_check=[hypothesis.HealthCheck.too_slow],
)


@strategies.composite
def damaged(draw: strategies.DrawFn, content: bytes) -> bytes:
  """Draws a damaged version of a file's content."""
  found = bytearray(content)
  # Headers, often at the beginning, are damaged more often.
  positions = strategies.integers(0, len(content) - 1) | strategies.integers(
    0, min(len(content), 64) - 1
  )
  for _ in range(draw(strategies.integers(0, 4))):
    found[draw(positions)] = draw(strategies.integers(0, 255))
  if draw(strategies.booleans()):
    del found[draw(strategies.integers(0, len(content))) :]
  return bytes(found)
