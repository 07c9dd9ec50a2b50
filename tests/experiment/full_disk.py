# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Simulates a full disk for a process."""

from collections.abc import Iterator
import contextlib
import resource


@contextlib.contextmanager
def full_disk(num_bytes: int) -> Iterator[None]:
  """A context in which no file of this process can exceed a size."""
  limits = resource.getrlimit(resource.RLIMIT_FSIZE)
  resource.setrlimit(resource.RLIMIT_FSIZE, (num_bytes, limits[1]))
  try:
    yield
  finally:
    resource.setrlimit(resource.RLIMIT_FSIZE, limits)
