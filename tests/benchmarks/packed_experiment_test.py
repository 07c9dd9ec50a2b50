# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests that a packed run goes on elsewhere to the same bits."""

import pathlib
import signal
import tarfile

from absl.testing import absltest
import pytest

from benchmarks import gpu_stretch
from benchmarks import packed_experiment
from tests import forked_programs
from tests.experiment import saved_run
from tests.experiment import training_test_case
from tff_semifl.experiment import hparams_file
from tff_semifl.files import durable_files


class PackedExperimentTest(training_test_case.TrainingTestCase):
  def setUp(self):
    super().setUp()
    self.folder = pathlib.Path(self.create_tempdir().full_path)
    self.file = self.folder / f'run{packed_experiment.SUFFIX}'

  def _train(self, name, total_rounds):
    folder = self.folder / name
    folder.mkdir(exist_ok=True)
    hparams_file.write(folder / hparams_file.NAME, hparams_file.create({}))
    self.train(folder, total_rounds)
    return folder

  def test_unpacked_run_resumes_to_the_same_bits(self):
    whole, cut = self._train('whole', 4), self._train('cut', 2)
    (cut / 'logdir').mkdir()
    (cut / 'logdir' / 'events').write_bytes(bytes(100))
    self.assertEqual(packed_experiment.pack(cut, self.file), 2)
    with tarfile.open(self.file) as archive:
      self.assertCountEqual(
        archive.getnames(),
        ['hparams.json', 'metrics.csv', 'checkpoints/program_state_2.npz'],
      )
    packed_experiment.unpack(self.file, self.folder / 'elsewhere')
    self.assertEqual(
      saved_run.read(self._train('elsewhere', 4)), saved_run.read(whole)
    )

  def test_stretch_takes_along_the_runs_that_are_unfinished(self):
    runs, results, elsewhere = (
      self.folder / name for name in ('runs', 'results', 'elsewhere')
    )
    for each in (runs, results):
      each.mkdir()
    run = self._train('runs/unfinished', 1)
    packed_experiment.pack(run, results / 'finished.tar.xz')
    (runs / 'begun').mkdir()
    [line] = gpu_stretch._pack(runs, results)
    self.assertStartsWith(line, 'unfinished after round 1, ')
    self.assertCountEqual(
      [path.name for path in results.iterdir()],
      ['unfinished.csv', 'unfinished.tar.xz'],
    )
    for _ in range(2):  # The second time, the folder is there.
      gpu_stretch._unpack(results, elsewhere)
    self.assertEqual(
      saved_run.read(elsewhere / 'unfinished'), saved_run.read(run)
    )

  def test_what_cannot_be_packed_or_unpacked(self):
    empty = self.folder / 'empty'
    empty.mkdir()
    self.assertIsNone(packed_experiment.pack(empty, self.file))
    self.assertFalse(self.file.exists())
    packed_experiment.pack(self._train('run', 1), self.file)
    content = self.file.read_bytes()
    target = self.folder / 'target'
    for damaged in (b'', b'no archive', content[: len(content) // 2]):
      self.file.write_bytes(damaged)
      with self.assertRaisesRegex(durable_files.OutputError, 'run.tar.xz'):
        packed_experiment.unpack(self.file, target)
      self.assertFalse(target.exists())
    self.file.write_bytes(content)
    with self.assertRaisesRegex(durable_files.OutputError, 'empty exists'):
      packed_experiment.unpack(self.file, empty)

  @pytest.mark.slow
  def test_killed_training_goes_on_elsewhere(self):
    log = self.enter_context((self.folder / 'log').open('w'))

    def start(folder):
      return forked_programs.start(
        'launch.train',
        'semifl',
        '--preset=semifl/digits_50_iid',
        '--total_rounds=4',
        '--model=linear',
        '--keep_client_momentum=true',
        '--share_prior=false',
        '--client_epochs=1',
        '--server_epochs=1',
        '--threads_per_operation=1',
        '--tensorboard=false',
        f'--output_dir={folder}',
        '--experiment_name=run',
        stdout=log,
        stderr=log,
      )

    self.assertEqual(start(self.folder / 'whole').wait(), 0)
    program, run = start(self.folder / 'killed'), self.folder / 'killed' / 'run'
    forked_programs.wait_until(
      (run / 'checkpoints' / 'program_state_2.npz').exists
    )
    program.kill()
    self.assertEqual(program.wait(), -signal.SIGKILL)
    packed_experiment.pack(run, self.file)
    packed_experiment.unpack(self.file, self.folder / 'elsewhere' / 'run')
    self.assertEqual(start(self.folder / 'elsewhere').wait(), 0)
    self.assertEqual(
      saved_run.read(self.folder / 'elsewhere' / 'run'),
      saved_run.read(self.folder / 'whole' / 'run'),
    )


if __name__ == '__main__':
  absltest.main()
