# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""A disk that is full, as far as a process can tell."""

from collections.abc import Iterator
import contextlib
import resource


@contextlib.contextmanager
def full_disk(num_bytes: int) -> Iterator[None]:
  """Lets no file of this process grow beyond a size in the `with` block."""
  limits = resource.getrlimit(resource.RLIMIT_FSIZE)
  resource.setrlimit(resource.RLIMIT_FSIZE, (num_bytes, limits[1]))
  try:
    yield
  finally:
    resource.setrlimit(resource.RLIMIT_FSIZE, limits)
