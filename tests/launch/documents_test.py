# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests that commands in documents have existing flags, and that they run.

The first test reads the flags of all commands, also in the help of programs,
and of each run of a sweep. The slow tests run commands and Python of all pages
except results, with a small model, few images and two rounds.
"""

import contextlib
import io
import pathlib
import re
import runpy
import shutil
import sys
from unittest import mock

from absl import app
from absl import flags
from absl.testing import absltest
import numpy as np
import PIL.Image
import pytest
from sklearn import datasets

from launch import sweep
from tests import forked_programs
from tests import small_digits
from tests.launch import documents
from tests.repository import source_tree
from tff_semifl import settings
from tff_semifl.cli import commands
from tff_semifl.cli import program
from tff_semifl.cli import sweep_runs

_ROOT = source_tree.PROJECT_ROOT
# Replacements of placeholders in commands.
_STAND_FOR = {
  'SYSTEM': 'semifl',
  'ROW': 'semifl',
  'SEED': '0',
  'digits_20_PARTITION': 'digits_20_iid',
  'PROGRAM': 'show_settings',
  'DATA_DIR': 'data',
  'shifted_digits:TASK': 'shifted_digits:CAMERAS',
  'my.flags': 'launch/flagfiles/results/digits_50_iid/semifl.flags',
  'FILE': 'mine.npz',
  'semifl ...': 'semifl --task=image_folder --image_dir=photos --runtime=ray'
  ' --ray_address=auto --image_size=64',
  'checkpoints/program_state_30': '../results/mine/checkpoints/program_state_9',
}
_MODULES = {
  'my_package/my_module.py': 'import tff_semifl as sfl\n'
  'MY_SYSTEM = sfl.Alternating(client=sfl.FixMix())\n',
  'my_package/my_tasks.py': 'from tasks.digits import Digits as MyTask\n',
  'my_package/my_models.py': 'from tests.small_digits import'
  ' create_small_model as create\n',
}
# Reasons why a command is not run.
_NOT_RUN = {
  r'^(?!launch\.)|^launch\.show_settings': 'is tested elsewhere',
  r'cifar10|svhn': 'the images have to be downloaded',
  r'my_models:mobilenet': 'weights have to be downloaded',
  r'launch\.site|=ray\b': 'needs a cluster, tests have one',
  r'--adapt_shares|--class_shares': 'the images have shares of their own',
}
_SMALL = {
  'total_rounds': '2',
  'total_steps': '2',
  'steps_per_round': '1',
  'client_epochs': '1',
  'server_epochs': '1',
}


def _fill_in(block):
  """Replaces placeholders in a block."""
  code = block.code
  for word, value in _STAND_FOR.items():
    code = re.sub(rf'(?<![A-Z_]){re.escape(word)}(?![A-Z])', value, code)
  return block._replace(code=code)


def _find_module(arguments):
  """The module of a command and its arguments; None for other programs."""
  if arguments[0] == 'tff-semifl':
    return [f'launch.{arguments[1]}', *arguments[2:]]
  if arguments[:2] == ['python', '-m']:
    return arguments[2:]
  return None


def _write_modules(folder):
  """Writes the modules that documents treat as the reader's own."""
  methods = [
    block.code
    for block in documents.find_blocks(_ROOT)
    if block.path == 'docs/own_methods.md' and 'FED_PROX =' in block.code
  ]
  models = [
    block.code
    for block in documents.find_blocks(_ROOT)
    if block.path == 'docs/models.md' and 'my_models.py' in block.code
  ]
  for name, code in [
    ('my_method.py', methods[0]),
    ('my_models.py', models[0]),
    *_MODULES.items(),
  ]:
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_text(code)


def _make_small(system, given):
  """Flags with which a program of a page trains for seconds."""
  text = ' '.join(given)
  small = []
  presets = re.findall(r'--presets=(\S+)', text)
  systems = {each.system_name for each in sweep_runs.find_presets(presets)}
  # The flags of a sweep are for all its systems.
  names = set.intersection(
    *(
      set(settings.as_dict(commands.create(s, {}))) for s in systems or {system}
    )
  )
  for name, value in _SMALL.items():
    if name in names:
      small.append(f'--{name}={value}')
  if '--seeds=' in text:
    small.append('--seeds=0,1')
  if '--values=' in text:
    small.append('--values=0.1,0.3')
  if '--model=' not in text and 'model' in names and 'features' not in text:
    small.append(f'--model={small_digits.SETTINGS["model"]}')
  if '--task=' not in text:
    small.append(f'--task={small_digits.SETTINGS["task"]}')
  if '--task=image_folder' in text:
    small.append('--task=tests.launch.small_photos:SmallPhotos')
  return small


def _take_flags_of_benchmarks():
  """Removes absl's flags of benchmarks, and returns these flags by name."""
  found = {
    flag.name: flag
    for module, of_module in flags.FLAGS.flags_by_module_dict().items()
    for flag in of_module
    if 'benchmarks' in module
  }
  for name in found:
    delattr(flags.FLAGS, name)
  return found


def _give_flags_back(found):
  for name, flag in found.items():
    flags.FLAGS[name] = flag


class DocumentsTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self._folder = pathlib.Path(self.create_tempdir().full_path)
    shutil.copytree(
      _ROOT / 'launch/flagfiles', self._folder / 'launch/flagfiles'
    )
    (self._folder / 'docs').mkdir()
    _write_modules(self._folder)

  def _run(self, module, *arguments, **variables):
    return forked_programs.run(
      module,
      *arguments,
      variables={'PYTHONPATH': f'{self._folder}:{_ROOT}', **variables},
      timeout=400,
    )

  def _commands(self):
    """Yields blocks and commands of this project's programs."""
    for block in documents.find_blocks(_ROOT):
      if block.is_shell:
        for each in documents.find_commands(_fill_in(block), self._folder):
          yield block, each

  def test_each_command_has_flags_that_are_taken(self):
    self.enter_context(
      mock.patch.object(sys, 'path', [str(self._folder), *sys.path])
    )
    # Two benchmarks may have a flag with the same name, also in other tests.
    self.addCleanup(_give_flags_back, _take_flags_of_benchmarks())
    targets = re.findall(r'(?m)^([a-z-]+):', (_ROOT / 'Makefile').read_text())
    seen = set()
    for block, arguments in self._commands():
      if tuple(arguments) in seen:
        continue
      seen.add(tuple(arguments))
      with self.subTest(f'{block.path}:{block.line}: {" ".join(arguments)}'):
        command = _find_module(arguments)
        if arguments[0] == 'make':
          self.assertIn(arguments[1], targets)
        elif arguments[0] == 'python' and command is None:
          self.assertTrue((_ROOT / arguments[1]).exists())
        elif command and command[0].startswith(('launch.', 'benchmarks.')):
          self._check_flags(*command)
    self.assertGreater(len(seen), 50)

  def _check_flags(self, module, *given):
    """Parses flags of settings or of absl, as the program does."""
    path = _ROOT / f'{module.replace(".", "/")}.py'
    parsed = []
    with (
      mock.patch.object(sys, 'argv', [module, *given]),
      mock.patch.object(
        program,
        'run',
        lambda *args, **options: parsed.append(
          documents.parse(*args, **options)
        ),
      ),
      mock.patch.object(
        app, 'run', lambda _: parsed.append(flags.FLAGS(sys.argv))
      ),
      contextlib.redirect_stdout(io.StringIO()),
      contextlib.suppress(SystemExit),
    ):
      runpy.run_path(str(path), run_name='__main__')
    _take_flags_of_benchmarks()
    self.assertTrue(parsed or not given or '--help' in given)
    if module == 'launch.sweep':
      ((chosen, passed_on),) = parsed
      with contextlib.redirect_stdout(io.StringIO()):
        sweep.main(settings.change(chosen, {'print_commands': True}), passed_on)

  def _write_files(self):
    """Writes images, features and runs that documents assume to exist."""
    digits = datasets.load_digits()
    places = {
      'photos/server': range(100),
      'photos/test': range(100, 150),
      'photos/clients': range(150, 250),
      'new_photos': range(250, 255),
    }
    for place, numbers in places.items():
      for number in numbers:
        name = 'a' if number % 2 else 'b'
        if 'clients' not in place:
          name = str(digits.target[number])
        folder = self._folder / place / name
        folder.mkdir(parents=True, exist_ok=True)
        image = PIL.Image.fromarray(np.uint8(15 * digits.images[number]))
        image.resize((64, 64)).save(folder / f'{number}.png')
    vectors = np.float32(digits.data)
    np.save(self._folder / 'new.npy', vectors[:5])
    np.savez(
      self._folder / 'mine.npz',
      features=vectors[:100],
      labels=digits.target[:100],
      client_features=vectors[100:500],
      client_ids=np.arange(400) % 10,
      test_features=vectors[500:700],
      test_labels=digits.target[500:700],
    )
    completed = self._run(
      *('tests.launch.documents', 'launch.train', 'semifl'),
      *_make_small('semifl', []),
      # So accurate that a temperature can be fitted.
      *('--num_labeled=200', '--num_validation=100', '--total_rounds=9'),
      *('--learning_rate=0.1', '--experiment_name=mine'),
      RUN_IN=str(self._folder),
    )
    self.assertEqual(completed.returncode, 0, completed.stderr)
    results = self._folder / 'results'
    for name in (
      *('semifl', 'labels_alone', 'semifl_seed0', 'labels_alone_seed0'),
      *('my_sweep/semifl_seed0', 'my_sweep/semifl_seed1'),
    ):
      shutil.copytree(results / 'mine', results / name)

  @pytest.mark.slow
  def test_commands_run(self):
    self._write_files()
    num_run = 0
    for block, arguments in self._commands():
      command = _find_module(arguments)
      is_page = block.path.endswith('.md') and 'results/' not in block.path
      # A program without flags is only mentioned in a sentence.
      if not is_page or not command or not command[1:]:
        continue
      text = ' '.join(command)
      if any(re.search(pattern, text) for pattern in _NOT_RUN):
        continue
      module, *given = command
      small = []
      if module in ('launch.train', 'launch.demo', 'launch.sweep'):
        is_train = module == 'launch.train'
        is_registered = is_train and ':' not in given[0]
        system = given[0] if is_registered else 'semifl'
        small = _make_small(system, given)
        if 'results/' not in block.code.replace(text, ''):
          small.append(f'--output_dir=results/{num_run}')
      with self.subTest(f'{block.path}:{block.line}: {text}'):
        completed = self._run(
          *('tests.launch.documents', module, *given, *small),
          RUN_IN=str(self._folder),
        )
        self.assertEqual(completed.returncode, 0, completed.stderr)
      # Readers of other pages have no such images yet.
      (self._folder / 'results/predictions.csv').unlink(missing_ok=True)
      # Readers sort these images.
      shutil.rmtree(self._folder / 'photos/to_sort', ignore_errors=True)
      num_run += 1
    self.assertGreater(num_run, 25)

  @pytest.mark.slow
  def test_programs_in_python_run(self):
    self._write_files()
    names = []
    for block in documents.find_blocks(_ROOT):
      # Fragments of a program; the other blocks have their own tests.
      is_part = '...' in block.code or block.code.startswith('#')
      if not block.is_python or is_part or '>>>' in block.code:
        continue
      code = re.sub(r'total_rounds=\d+', 'total_rounds=2', _fill_in(block).code)
      names.append(f'program_{len(names)}')
      (self._folder / f'{names[-1]}.py').write_text(code)
      # Programs with the same default experiment name would share a folder.
      folder = self._folder / f'of_{names[-1]}'
      folder.mkdir()
      with self.subTest(f'{block.path}:{block.line}'):
        completed = self._run(
          'tests.launch.documents', names[-1], RUN_IN=str(folder)
        )
        self.assertEqual(completed.returncode, 0, completed.stderr)
        if block.path == 'README.md':
          self.assertLessEqual(len(code.splitlines()), 25)
          self.assertRegex(completed.stdout, r'^\d+\.\d%\n$')
    self.assertGreater(len(names), 4)


if __name__ == '__main__':
  absltest.main()
