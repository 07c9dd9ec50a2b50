# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests that the search finds the memory of a process."""

import os
import subprocess
import sys
import tempfile

from absl.testing import absltest

from tests.launch import process_memory

# Half of what a process is given, so that no argument or source has it.
_PROGRAM = """
import sys
half = bytes.fromhex(sys.stdin.readline())
whole = [half + half, bytes(1 << 24), half + half[::-1]]
del whole[2]
print(flush=True)
sys.stdin.readline()
"""


class ProcessMemoryTest(absltest.TestCase):
  def test_what_a_process_has(self):
    half = os.urandom(16)
    process = subprocess.Popen(
      [sys.executable, '-c', _PROGRAM],
      stdin=subprocess.PIPE,
      stdout=subprocess.PIPE,
      text=True,
    )
    self.addCleanup(process.communicate)
    process.stdin.write(f'{half.hex()}\n')
    process.stdin.flush()
    process.stdout.readline()
    other = os.urandom(32)
    self.assertEqual(
      process_memory.find(process.pid, [other, half + half]), [half + half]
    )

  def test_what_it_has_in_shared_memory(self):
    first, second, other = (os.urandom(32) for _ in range(3))
    with tempfile.TemporaryFile(dir='/dev/shm') as file:
      file.truncate(10**11)
      for offset, content in ((5000, first), (10**10, second)):
        os.pwrite(file.fileno(), content, offset)
      patterns = [second, other, first]
      self.assertEqual(
        process_memory.find_shared(os.getpid(), patterns), [second, first]
      )
    self.assertEmpty(process_memory.find_shared(os.getpid(), patterns))


if __name__ == '__main__':
  absltest.main()
