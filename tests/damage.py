# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Damages files like failing disks, faulty programs and users do."""

import functools

import hypothesis
from hypothesis import strategies

# The same examples each time, none of which may take long: a program that is
# given the wrong file must not hang.
settings = functools.partial(
  hypothesis.settings,
  derandomize=True,
  deadline=10_000,
  suppress_health_check=[hypothesis.HealthCheck.too_slow],
)


@strategies.composite
def damaged(draw: strategies.DrawFn, content: bytes) -> bytes:
  """Draws a damaged version of a file."""
  found = bytearray(content)
  # Headers, which are often at the beginning, are damaged more often.
  positions = strategies.integers(0, len(content) - 1) | strategies.integers(
    0, min(len(content), 64) - 1
  )
  for _ in range(draw(strategies.integers(0, 4))):
    found[draw(positions)] = draw(strategies.integers(0, 255))
  if draw(strategies.booleans()):
    del found[draw(strategies.integers(0, len(content))) :]
  return bytes(found)
