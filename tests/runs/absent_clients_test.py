# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of the memories of clients that drop out of a round."""

import pathlib
import types

from absl.testing import absltest
import numpy as np
import tensorflow_federated as tff

from tff_semifl.baselines.fedmatch import fedmatch_client_work
from tff_semifl.baselines.fedmatch import helpers
from tff_semifl.baselines.zhang2020 import group_averaging
from tff_semifl.baselines.zhang2020 import slots
from tff_semifl.runs import client_states


def _number(value):
  return np.float32(value)


class AbsentClientsTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.folder = pathlib.Path(self.create_tempdir().full_path)

  def test_own_memory(self):
    memories = client_states.ClientMemories(
      client_states.ClientStates(self.folder, lambda: _number(0), num_kept=3)
    )
    memories.keep((), 1, [4, 2, 3], [_number(1), None, _number(3)])
    memories.keep((), 2, [2, 4], [_number(5), None])
    self.assertEqual(memories.recall((), 3, [2, 3, 4, 5]), [5, 3, 1, 0])

  def test_slots(self):
    def memory(slot, momentum):
      return group_averaging.SlotMemory(np.int32(slot), _number(momentum))

    held = tuple(memory(slot, 0) for slot in range(4))
    memories = slots.SlotMemories(lambda: memory(0, 0), 4)
    found = memories.keep(
      held, 1, [7, 5, 6], [memory(0, 1), None, memory(2, 1)]
    )
    self.assertEqual(
      found, (memory(0, 1), memory(1, 0), memory(2, 1), memory(3, 0))
    )

  def test_helpers(self):
    # The attributes of a process that the store uses.
    process = types.SimpleNamespace(
      initialize_memory=lambda: (),
      next=types.SimpleNamespace(
        type_signature=types.SimpleNamespace(
          result=types.SimpleNamespace(
            memories=types.SimpleNamespace(
              member=types.SimpleNamespace(
                phi=[tff.TensorType(np.float32, [2])],
                output=tff.TensorType(np.float32, [3]),
              )
            )
          )
        )
      ),
    )
    memories = helpers.Helpers(
      process, self.folder, num_clients=4, num_helpers=1, num_kept=3
    )
    models = [
      fedmatch_client_work.ClientModel(
        phi=(np.full(2, client, np.float32),),
        output=np.eye(3, dtype=np.float32)[client],
        is_usable=True,
      )
      for client in range(3)
    ]
    memories.keep((), 1, [2, 3, 0], [models[2], None, models[0]])
    # The two known clients help each other.
    found = memories.recall((), 10, [0, 3, 2])
    self.assertEqual([len(each) for each in found], [1, 0, 1])
    np.testing.assert_array_equal(found[0][0], [[2, 2]])


if __name__ == '__main__':
  absltest.main()
