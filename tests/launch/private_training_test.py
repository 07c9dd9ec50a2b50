# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of the real program with noise, and with clients that drop out."""

import base64
import json
import pathlib
import signal
import stat
import struct
import tempfile
import time
import zipfile

from absl.testing import absltest
import pytest

from tests import forked_programs
from tests.experiment import saved_run
from tests.launch import programs
from tff_semifl.experiment import client_privacy
from tff_semifl.privacy import privacy_key

_ROUNDS = 3
_EPSILONS = [
  client_privacy.compute_epsilon(
    noise_multiplier=2.0,
    num_clients=10,
    clients_per_round=4,
    num_rounds=num_rounds,
    delta=0.01,
  )
  for num_rounds in range(_ROUNDS + 1)
]
_HEADLINE = f'privacy: epsilon {_EPSILONS[-1]:.4g} at delta 0.01 after 3 rounds'


def _arguments(folder, *more):
  return programs.small_training(
    folder,
    '--clients_per_round=4',
    # Confidences of the untrained model are above, so that clients train.
    '--confidence_threshold=0.12',
    f'--total_rounds={_ROUNDS}',
    *('--aggregator=differential_privacy', '--noise_multiplier=2'),
    *('--clipping_norm=0.5', '--privacy_delta=0.01'),
    *('--client_dropout_probability=0.5', *more),
  )


def _run(folder, *more):
  completed = forked_programs.run(*_arguments(folder, *more))
  if completed.returncode:
    raise AssertionError(completed.stderr)
  return completed


def _kill_after_round_1(folder):
  """Kills a program after round 1, and returns its output."""
  with tempfile.TemporaryFile() as log:
    process = forked_programs.start(*_arguments(folder), stdout=log, stderr=log)
    checkpoint = folder / 'small' / 'checkpoints' / 'program_state_1.npz'
    deadline = time.monotonic() + 150
    while not checkpoint.exists() and time.monotonic() < deadline:
      time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    log.seek(0)
    return log.read()


def _encodings(key):
  """The byte strings that would reveal a key."""
  encodings = []
  for secret in (
    key.secret,
    key.derive('noise', 16),
    key.derive('cohorts', 32),
  ):
    words = [
      number
      for form in ('<q', '<Q', '>q', '>Q')
      for (number,) in struct.iter_unpack(form, secret)
    ]
    numbers = [int.from_bytes(secret, order) for order in ('little', 'big')]
    encodings += [
      secret,
      secret[::-1],
      secret.hex().encode(),
      secret.hex().upper().encode(),
      # Without the ends, which depend on neighboring bytes.
      base64.b64encode(secret)[:-4],
      base64.urlsafe_b64encode(secret)[:-4],
      *(str(number).encode() for number in (*words, *numbers)),
      *(hex(number).removeprefix('0x').encode() for number in numbers),
    ]
  return encodings


def _contents(folder):
  """Yields names and contents of all files, also of files in archives."""
  for path in folder.rglob('*'):
    if path.is_file():
      yield path.name, path.read_bytes()
      if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
          for name in archive.namelist():
            yield f'{path.name}:{name}', archive.read(name)


def _print(program, **values):
  """The output of a program."""
  completed = forked_programs.run(
    f'launch.{program}',
    *(f'--{name}={value}' for name, value in values.items()),
  )
  if completed.returncode:
    raise AssertionError(completed.stderr)
  return completed.stdout


@pytest.mark.slow
class PrivateTrainingTest(absltest.TestCase):
  """Tests with a run that was killed after the first round, and resumed."""

  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls._folder = pathlib.Path(
      tempfile.mkdtemp(dir=absltest.get_default_test_tmpdir())
    )
    cls._experiment = cls._folder / 'small'
    cls._before = _kill_after_round_1(cls._folder)
    cls._mode = stat.S_IMODE((cls._experiment / 'privacy.key').stat().st_mode)
    cls._key = privacy_key.read(cls._experiment / 'privacy.key')
    cls._files_before = dict(_contents(cls._experiment))
    cls._resumed = _run(cls._folder)
    cls._files_after = dict(_contents(cls._experiment))

  def test_key_is_the_owners_and_goes_when_the_run_is_complete(self):
    self.assertEqual(self._mode, 0o600)
    self.assertIn('privacy.key', self._files_before)
    self.assertNotIn('privacy.key', self._files_after)
    self.assertIn('resumed after round', self._resumed.stderr)

  def test_nothing_but_its_file_has_the_key(self):
    files = [
      *self._files_before.items(),
      *self._files_after.items(),
      ('log', self._before),
      ('stdout', self._resumed.stdout.encode()),
      ('stderr', self._resumed.stderr.encode()),
    ]
    names = {name for name, _ in files}
    self.assertContainsSubset(
      {'hparams.json', 'metrics.csv', 'saved_model.pb', 'privacy.json'}, names
    )
    encodings = _encodings(self._key)
    found = {
      name for name, content in files for each in encodings if each in content
    }
    # The search can find the key.
    self.assertEqual(found, {'privacy.key'})

  def test_resumed_run_equals_one_that_ran_through_with_the_same_key(self):
    """A resumed run equals a complete run with a known key, to the last bit."""
    folder = pathlib.Path(self.create_tempdir().full_path)
    known = _run(
      folder, f'--insecure_fixed_privacy_key={self._key.secret.hex()}'
    )
    expected = saved_run.read(self._experiment)
    for row in expected.rows:
      del row['aggregator/epsilon']
    self.assertEqual(saved_run.read(folder / 'small'), expected)
    self.assertFalse((folder / 'small' / 'privacy.key').exists())
    self.assertIn(
      'privacy: none: --insecure_fixed_privacy_key was given', known.stdout
    )
    self.assertNotIn('epsilon', known.stdout)
    written = json.loads((folder / 'small/export/privacy.json').read_text())
    self.assertIsNone(written['epsilon'])

  def test_says_what_it_cost(self):
    self.assertIn(f'{_HEADLINE}\n', self._resumed.stdout)
    before, _, _ = (
      (self._experiment / 'log.txt').read_text().partition('round 0')
    )
    self.assertIn(_HEADLINE, before)
    rows = saved_run.read_rows(self._experiment)
    for row, epsilon in zip(rows, _EPSILONS, strict=True):
      self.assertAlmostEqual(float(row['aggregator/epsilon']), epsilon)

  def test_model_says_what_it_promises(self):
    """The statement is in the model of training, and in later exports."""
    later = pathlib.Path(self.create_tempdir().full_path, 'export')
    printed = _print(
      'export_saved_model',
      experiment=self._experiment,
      export_dir=later,
      format='saved_model,tflite_float32',
    )
    self.assertIn(f'{_HEADLINE}\n', printed)
    card = (later / 'README.md').read_text()
    self.assertIn(f'P{_HEADLINE[1:]}.', card)
    for text in ('neighboring relation', 'without replacement', 'not covered'):
      self.assertIn(text, card)
    json_file = later.parent / 'results.json'
    printed = _print(
      'evaluate',
      exported_model=later / 'model_float32.tflite',
      task='digits',
      output_file=json_file,
    )
    self.assertIn(f'{_HEADLINE}\n', printed)
    promised = json.loads(json_file.read_text())['privacy']
    self.assertAlmostEqual(promised['epsilon'], _EPSILONS[-1])


if __name__ == '__main__':
  absltest.main()
