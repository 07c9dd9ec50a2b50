# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Searches the memory of other processes for secrets."""

from collections.abc import Iterator, Sequence
import contextlib
import os
import pathlib

import numpy as np

_PAGE = os.sysconf('SC_PAGE_SIZE')
# Bits of an entry of /proc/PID/pagemap: in memory, or in swap space.
_IS_USED = np.uint64(0b11 << 62)
# Mappings without written data, and devices.
_SKIPPED = ('.so', '[vvar', '[vsyscall', '/dev/nvidia')


def find(pid: int, patterns: Sequence[bytes]) -> list[bytes]:
  """The patterns that occur in the memory of a process."""
  found = set()
  for content in _contents(pid):
    found.update(each for each in patterns if each in content)
  return [each for each in patterns if each in found]


def find_shared(pid: int, patterns: Sequence[bytes]) -> list[bytes]:
  """The patterns that occur in a process's files in shared memory."""
  found = set()
  for link in list(pathlib.Path(f'/proc/{pid}/fd').iterdir()):
    # A file that was closed meanwhile is not in shared memory.
    with contextlib.suppress(FileNotFoundError):
      if not os.readlink(link).startswith('/dev/shm/'):
        continue
      with open(link, 'rb') as file:
        for content in _used_parts(file.fileno()):
          found.update(each for each in patterns if each in content)
  return [each for each in patterns if each in found]


def _contents(pid: int) -> Iterator[bytes]:
  """Yields the parts of each mapping that were ever used."""
  with (
    open(f'/proc/{pid}/maps') as maps,
    open(f'/proc/{pid}/mem', 'rb', buffering=0) as memory,
    open(f'/proc/{pid}/pagemap', 'rb', buffering=0) as pagemap,
  ):
    for line in maps:
      addresses, rights, *rest = line.split(maxsplit=5)
      name = rest[-1] if len(rest) == 4 else ''
      if rights[0] != 'r' or any(each in name for each in _SKIPPED):
        continue
      first, last = (int(each, 16) // _PAGE for each in addresses.split('-'))
      pagemap.seek(8 * first)
      entries = np.frombuffer(pagemap.read(8 * (last - first)), np.uint64)
      is_used = (entries & _IS_USED) != 0
      edges = np.flatnonzero(np.diff(is_used, prepend=False, append=False))
      for start, end in edges.reshape(-1, 2).tolist():
        memory.seek((first + start) * _PAGE)
        # A running process may have freed the memory.
        with contextlib.suppress(OSError):
          yield memory.read((end - start) * _PAGE)


def _used_parts(file: int) -> Iterator[bytes]:
  """Yields the written parts of a sparse file."""
  end = 0
  while True:
    try:
      start = os.lseek(file, end, os.SEEK_DATA)
    except OSError:
      # The address space ends here.
      return
    end = os.lseek(file, start, os.SEEK_HOLE)
    yield os.pread(file, end - start, start)
