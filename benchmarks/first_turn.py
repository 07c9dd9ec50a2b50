# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""`launch.train`, which also says when it has trained for the first time.

That is after the first turn of the server.
"""

import runpy
import sys

from tff_semifl import launch

MESSAGE = 'the first turn is over'


def main() -> None:
  """Trains."""
  # As `python -m launch.train` does, before TensorFlow is imported.
  launch.begin()
  from tff_semifl.runtime import function_calls
  from tff_semifl.runtime import leaf_graphs

  call = function_calls.call

  def call_and_say(function, tensors):
    results = call(function, tensors)
    # All that trains has a loop.
    if any(
      op.type in leaf_graphs.LOOPS for op in function.graph.get_operations()
    ):
      function_calls.call = call
      print(MESSAGE, file=sys.stderr, flush=True)
    return results

  function_calls.call = call_and_say
  runpy.run_module('launch.train', run_name='__main__')


if __name__ == '__main__':
  main()
