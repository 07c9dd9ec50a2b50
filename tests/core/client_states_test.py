# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of the files that store clients' states."""

import pathlib
import types

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import tensorflow_federated as tff

from tff_semifl.baselines.fedmatch import helpers
from tff_semifl.baselines.zhang2020 import group_averaging
from tff_semifl.core import client_states
from tff_semifl.files import durable_files


def _state(value):
  return {'a': np.full([2], value, np.float32), 'b': [np.int32(value)]}


class ClientStatesTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.folder = pathlib.Path(self.create_tempdir().full_path)
    self.store = client_states.ClientStates(
      self.folder, lambda: _state(7), num_kept=3
    )

  def _values(self, clients, round_num):
    # As in a new run.
    store = client_states.ClientStates(
      self.folder, lambda: _state(7), num_kept=3
    )
    return [int(store.load(each, round_num)['b'][0]) for each in clients]

  def test_states_are_those_of_the_clients_in_the_order_asked_for(self):
    self.store.save(4, _state(40), 1)
    self.store.save(9, _state(90), 1)
    self.assertEqual(self._values([9, 5, 4], 2), [90, 7, 40])
    state = self.store.load(9, 2)
    np.testing.assert_array_equal(state['a'], [90, 90])

  def test_a_round_that_is_run_again_sees_what_was_before_it(self):
    for round_num, value in ((1, 1), (2, 2)):
      self.store.save(4, _state(value), round_num)
    self.assertEqual(self._values([4], 2), [1])
    self.store.save(4, _state(3), 2)
    self.assertEqual(self._values([4], 3), [3])

  def test_every_kept_checkpoint_finds_its_states_and_no_more_are_kept(self):
    for round_num in range(1, 11):
      self.store.save(4, _state(round_num), round_num)
    # Checkpoints of rounds 8 to 10 are kept, after which rounds 9 to 11 can
    # run.
    for round_num in (9, 10, 11):
      self.assertEqual(self._values([4], round_num), [round_num - 1])
    self.assertLessEqual(len(list((self.folder / '4').iterdir())), 4)
    # A client's state is kept, however long ago the client trained.
    self.store.save(4, _state(50), 50)
    self.assertEqual(self._values([4], 49), [10])

  def test_file_that_was_being_written_is_not_read(self):
    self.store.save(4, _state(1), 1)
    (self.folder / '4' / '2.temporary').write_bytes(b'half')
    self.assertEqual(self._values([4], 3), [1])

  @parameterized.named_parameters(
    ('cut', lambda content: content[: len(content) // 2]),
    (
      'changed_in_a_number',
      lambda content: content.replace(
        np.float32(1).tobytes(), np.float32(2).tobytes(), 1
      ),
    ),
  )
  def test_damaged_file_is_named(self, damage):
    self.store.save(4, _state(1), 1)
    path = self.folder / '4' / '1.npz'
    content = path.read_bytes()
    path.write_bytes(damage(content))
    self.assertNotEqual(path.read_bytes(), content)
    with self.assertRaisesRegex(
      durable_files.OutputError, f'^{path} is damaged: '
    ):
      self._values([4], 2)

  def test_memories_that_were_removed_are_missed(self):
    self.folder /= 'states'
    memories = client_states.ClientMemories(
      self.folder, lambda: _state(7), num_kept=3
    )
    # No client has finished an update.
    memories.keep(memories.initialize(), 1, [], [])
    memories.recall((), 1, [])
    memories.recall((), 2, [4])
    self.folder.rmdir()
    with self.assertRaisesRegex(
      durable_files.OutputError, f'^{self.folder} is missing, in which clients'
    ):
      memories.recall((), 3, [4])


class AbsentClientsTest(absltest.TestCase):
  """Tests that clients that drop out of a round keep their memory."""

  def setUp(self):
    super().setUp()
    self.folder = pathlib.Path(self.create_tempdir().full_path)

  def test_own_memory(self):
    memories = client_states.ClientMemories(
      self.folder, lambda: np.float32(0), num_kept=3
    )
    one, three, five = np.float32([1, 3, 5])
    memories.keep((), 1, [4, 2, 3], [one, None, three])
    memories.keep((), 2, [2, 4], [five, None])
    self.assertEqual(memories.recall((), 3, [2, 3, 4, 5]), [5, 3, 1, 0])

  def test_slots(self):
    def memory(slot, momentum):
      return group_averaging.SlotMemory(np.int32(slot), np.float32(momentum))

    held = tuple(memory(slot, 0) for slot in range(4))
    memories = group_averaging.SlotMemories(lambda: memory(0, 0), 4)
    found = memories.keep(
      held, 1, [7, 5, 6], [memory(0, 1), None, memory(2, 1)]
    )
    self.assertEqual(
      found, (memory(0, 1), memory(1, 0), memory(2, 1), memory(3, 0))
    )

  def test_helpers(self):
    # The attributes of a process that the store uses.
    member = types.SimpleNamespace(
      phi=[tff.TensorType(np.float32, [2])],
      output=tff.TensorType(np.float32, [3]),
    )
    of_process = 'next.type_signature.result.memories'
    process = types.SimpleNamespace(member=member)
    for name in reversed(of_process.split('.')):
      process = types.SimpleNamespace(**{name: process})
    process.initialize_memory = tuple
    memories = helpers.Helpers(
      process, self.folder, num_clients=4, num_helpers=1, num_kept=3
    )
    models = [
      helpers.ClientModel(
        phi=(np.full(2, client, np.float32),),
        output=np.eye(3, dtype=np.float32)[client],
        is_usable=True,
      )
      for client in range(3)
    ]
    memories.keep((), 1, [2, 3, 0], [models[2], None, models[0]])
    found = memories.recall((), 10, [0, 3, 2])
    self.assertEqual([len(each) for each in found], [1, 0, 1])
    np.testing.assert_array_equal(found[0][0], [[2, 2]])


if __name__ == '__main__':
  absltest.main()
