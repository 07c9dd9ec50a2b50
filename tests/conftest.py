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

# absl's main would parse these flags; under pytest each flag keeps its default.
flags.FLAGS.mark_as_parsed()

# A background job ignores SIGINT. TFF's worker would inherit this, although it
# ends by SIGINT only, and would hold the output open.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
  signal.signal(signal.SIGINT, signal.default_int_handler)

# Models are small, and tests share the cores. TensorFlow reads the variable
# when it first computes, also in programs that tests start.
os.environ.setdefault('TF_NUM_INTRAOP_THREADS', '1')

# As in `launch`: tests build as many graphs as programs do.
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

  TensorFlow disables logging while it writes a SavedModel. If two threads write
  at the same time, as TFF's managers do, logging may stay disabled.
  """
  logging.set_verbosity(_VERBOSITY)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
  """Schedules files with real programs first, because they take longest.

  By default xdist begins with the files that have the most tests. A file with
  one long test would come last, when other processes are idle.
  """
  if config.getvalue('dist') != 'loadfile':
    return None
  from xdist import scheduler

  class ProgramsFirst(scheduler.LoadFileScheduling):
    def _split_scope(self, nodeid):
      # The tests of this file take minutes, and share no set-up.
      if nodeid.startswith(_LONGEST_FILE):
        return nodeid
      # The programs on Ray, of which a machine has one at a time, share a file.
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
