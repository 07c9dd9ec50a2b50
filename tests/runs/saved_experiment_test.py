# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of reading the folder of an experiment."""

import pathlib
from typing import Any, NamedTuple

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np

from tff_semifl.models import functional
from tff_semifl.runs import hparams_file
from tff_semifl.runs import outputs
from tff_semifl.runs import saved_experiment
from tff_semifl.runs import training_program


class _State(NamedTuple):
  """A state with the fields of all processes, and a further one."""

  global_model_weights: Any
  other: Any


class SavedExperimentTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self._path = pathlib.Path(self.create_tempdir().full_path, 'mine')

  def _open(self):
    return outputs.ExperimentFolder(
      self._path,
      hparams_file.create({'task': 'digits', 'seed': 3}, data='some images'),
    )

  def test_hparams(self):
    self._open()
    hparams = saved_experiment.read_hparams(self._path)
    self.assertEqual(hparams.flags, {'task': 'digits', 'seed': 3})
    self.assertEqual(hparams.data, 'some images')
    self.assertContainsSubset({'git_commit', 'tensorflow'}, hparams.versions)

  @parameterized.parameters('', '{"flags": 3, "data": 0}')
  def test_file_that_no_experiment_wrote(self, text):
    self._path.mkdir()
    (self._path / 'hparams.json').write_text(text)
    with self.assertRaisesRegex(
      saved_experiment.SavedExperimentError,
      '/mine/hparams.json is not what an experiment writes$',
    ):
      saved_experiment.read_hparams(self._path)

  def test_folder_that_is_none_of_an_experiment(self):
    with self.assertRaisesRegex(
      saved_experiment.SavedExperimentError,
      '^is no folder of an experiment.*/mine/hparams.json: No such file',
    ):
      saved_experiment.read_hparams(self._path)

  def _save(self, version):
    weights = functional.ModelWeights(
      (np.full([2, 3], version, np.float32), np.float32([4])),
      (np.float32([5, version]),),
    )
    state = training_program.ProgramState(
      _State(weights, (np.int32(1), np.float32([2]))), version, 0.25, 0.5
    )
    self._open().checkpoints().save(state, version)
    return weights

  def test_newest_model(self):
    self._save(1)
    weights = self._save(2)
    found = saved_experiment.read_trained_model(self._path)
    self.assertEqual(
      (found.round_num, found.accuracy, found.best_accuracy), (2, 0.25, 0.5)
    )
    for arrays, expected in (
      (found.weights.trainable, weights.trainable),
      (found.weights.non_trainable, weights.non_trainable),
    ):
      self.assertLen(arrays, len(expected))
      for array, value in zip(arrays, expected, strict=True):
        np.testing.assert_array_equal(array, value)

  def test_without_a_checkpoint(self):
    self._open()
    with self.assertRaisesRegex(
      saved_experiment.SavedExperimentError, '^has no checkpoint yet'
    ):
      saved_experiment.read_trained_model(self._path)


if __name__ == '__main__':
  absltest.main()
