# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of an experiment's folder, and of reading it."""

import json
import os
import pathlib

from absl.testing import absltest
import numpy as np

from tff_semifl.core import client_states
from tff_semifl.experiment import experiment_folder
from tff_semifl.experiment import hparams_file
from tff_semifl.files import durable_files

_FLAGS = {'task': 'digits', 'seed': 0, 'output_dir': 'here', 'data_dir': None}


class ExperimentFolderTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.path = pathlib.Path(self.create_tempdir().full_path) / 'experiment'

  def _open(self, **flags):
    return experiment_folder.ExperimentFolder(
      self.path, hparams_file.create(_FLAGS | flags), {'output_dir'}
    )

  def test_writes_flags_and_versions(self):
    self._open()
    written = json.loads((self.path / 'hparams.json').read_text())
    self.assertEqual(written['flags'], _FLAGS)
    self.assertEqual(written['versions']['tensorflow-federated'], '0.87.0')
    self.assertIn('git_commit', written['versions'])
    self.assertNotEmpty(written['versions']['processor'])

  def test_changes_name_another_processor(self):
    self.assertEmpty(self._open().changes)
    path = self.path / 'hparams.json'
    content = json.loads(path.read_text())
    content['versions'] |= {'processor': 'Abacus', 'gpus': None}
    path.write_text(json.dumps(content))
    (line,) = self._open().changes
    self.assertIn('processor was Abacus and is', line)
    self.assertNotIn('gpus', line)

  def test_other_experiment_is_refused_by_name_and_values(self):
    self._open()
    self._open(output_dir='there')
    with self.assertRaisesRegex(
      durable_files.OutputError, r'another experiment, with --seed=0 and not 1'
    ):
      self._open(seed=1)

  def test_who_is_refused_leaves_the_folder_to_others(self):
    self._open()
    kept = []
    try:
      self._open(seed=1)
    except durable_files.OutputError as error:
      # A traceback would keep the unfinished object alive.
      kept.append(error)
    self._open()
    self.assertLen(kept, 1)

  def test_model_that_is_older_than_the_last_checkpoint_is_no_export(self):
    folder = self._open()
    checkpoints = [self.path / f'checkpoints/{name}.npz' for name in 'ab']
    models = [
      folder.export_path / name for name in ('saved_model.pb', 'm.tflite')
    ]
    for path in (*checkpoints, *models):
      path.parent.mkdir(exist_ok=True)
    for model in models:
      self.assertFalse(folder.has_export)
      for seconds, path in enumerate((*checkpoints, model)):
        path.touch()
        os.utime(path, (seconds, seconds))
      self.assertTrue(folder.has_export)
      os.utime(checkpoints[0], (9, 9))
      self.assertFalse(folder.has_export)
      model.unlink()

  def test_rounds_are_added_where_they_may_be(self):
    def open_folder(total_rounds, may_grow):
      return experiment_folder.ExperimentFolder(
        self.path,
        hparams_file.create(_FLAGS | {'total_rounds': total_rounds}),
        length=hparams_file.Length(('total_rounds',), may_grow),
      )

    open_folder(3, True)
    with self.assertRaisesRegex(
      durable_files.OutputError,
      '--total_rounds=3, .* 5, .*depends on how many',
    ):
      open_folder(5, False)
    written = self.path / 'hparams.json'
    before = json.loads(written.read_text())
    # A check without a run changes nothing.
    open_folder(5, True)
    self.assertEqual(json.loads(written.read_text()), before)
    open_folder(5, True).record_length()
    before['flags']['total_rounds'] = 5
    self.assertEqual(json.loads(written.read_text()), before)
    for may_grow in (True, False):
      with self.assertRaisesRegex(
        durable_files.OutputError, '--total_rounds=5'
      ):
        open_folder(4, may_grow)

  def test_folder_of_something_else_is_refused(self):
    self.path.mkdir()
    (self.path / 'thesis.txt').write_text('precious')
    with self.assertRaisesRegex(durable_files.OutputError, 'is not empty'):
      self._open()
    (self.path / 'hparams.json').write_text('no JSON')
    with self.assertRaisesRegex(
      durable_files.OutputError, 'not what an experiment'
    ):
      self._open()
    self.assertEqual((self.path / 'thesis.txt').read_text(), 'precious')

  def test_what_a_kill_left_at_the_very_start_is_no_other_experiment(self):
    self.path.mkdir()
    (self.path / 'hparams.temporary').write_text('{"fla')
    self._open()
    self.assertTrue((self.path / 'hparams.json').exists())
    self.assertFalse((self.path / 'hparams.temporary').exists())

  def test_folder_in_use_is_refused(self):
    folder = self._open()
    with self.assertRaisesRegex(
      durable_files.OutputError, 'in use by another run'
    ):
      self._open()
    del folder
    self._open()

  def test_folder_that_cannot_be_made_is_refused(self):
    self.path.write_text('a file where a folder should be')
    with self.assertRaisesRegex(durable_files.OutputError, 'cannot write to'):
      self._open()


class ClientMemoriesTest(absltest.TestCase):
  def test_each_checkpoint_finds_what_clients_had_then(self):
    """Tests checkpoints of every fifth round, of which three are kept."""
    memories = client_states.ClientMemories(
      pathlib.Path(self.create_tempdir().full_path),
      lambda: np.int32(0),
      num_kept=5 * experiment_folder.NUM_CHECKPOINTS,
    )
    # A client that is in all rounds except those with checkpoints.
    for round_num in range(1, 20):
      if round_num % 5:
        memories.keep((), round_num, [4], [np.int32(round_num)])
    for checkpoint in (5, 10, 15):
      [found] = memories.recall((), checkpoint + 1, [4])
      self.assertEqual(found, checkpoint - 1)


if __name__ == '__main__':
  absltest.main()
