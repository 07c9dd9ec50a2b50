# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Configures pytest to run tests as absl's own main would."""

import atexit
import gc
import os
import re
import signal
import sys

from absl import flags
from absl import logging
import pytest

# absl's main would parse them; under pytest each keeps its default.
flags.FLAGS.mark_as_parsed()

# A background job ignores SIGINT, and so would the worker of TFF's own context,
# which ends by that signal alone and holds the output open until it does.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
  signal.signal(signal.SIGINT, signal.default_int_handler)

# Models are small, and tests share the cores. TensorFlow reads it when it
# begins to compute, in the programs that tests start, too.
os.environ.setdefault('TF_NUM_INTRAOP_THREADS', '1')

# As `launch` has it: tests build as many graphs as programs do.
gc.set_threshold(100_000)
atexit.register(gc.freeze)

_VERBOSITY = logging.get_verbosity()
_LONGEST_FILE = 'tests/launch/all_systems_test.py'
_USES_RAY = re.compile(r'/(ray_\w*test|deploy_test)\.py')
_STARTS_PROGRAMS = re.compile(
  r'/launch/(bad_input|documents|export_saved_model|other_programs_input'
  r'|sweep|train_semifl)_test\.py'
)


@pytest.fixture(autouse=True)
def messages():
  """Makes absl log messages in each test, whatever ran before.

  TensorFlow logs none while it writes a SavedModel. Where two threads do so at
  the same time, as TFF's own managers do, it may log none ever after.
  """
  logging.set_verbosity(_VERBOSITY)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
  """Schedules files with real programs first, because they take longest.

  By itself xdist begins with the files that have the most tests, and those with
  one long test come last, when other processes have nothing left to do.
  """
  if config.getvalue('dist') != 'loadfile':
    return None
  from xdist import scheduler

  class ProgramsFirst(scheduler.LoadFileScheduling):
    def _split_scope(self, nodeid):
      # Together its tests take minutes, and they share no set-up.
      if nodeid.startswith(_LONGEST_FILE):
        return nodeid
      # The programs of Ray that one machine has share a file.
      if _USES_RAY.search(nodeid):
        return 'tests/launch/ray'
      # Programs that are forks of one process, which takes seconds to start.
      if _STARTS_PROGRAMS.search(nodeid):
        return 'tests/launch/programs'
      return super()._split_scope(nodeid)

    def _assign_work_unit(self, node):
      for beginning in (_LONGEST_FILE, 'tests/launch/'):
        found = [unit for unit in self.workqueue if unit.startswith(beginning)]
        if found:
          self.workqueue.move_to_end(found[0], last=False)
          break
      super()._assign_work_unit(node)

  return ProgramsFirst(config, log)


# Bazel's tests run this file.
if __name__ == '__main__':
  sys.exit(pytest.main(sys.argv[1:]))
