# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Imports point one way: from the algorithms to what they are made of."""

import pathlib

from absl.testing import absltest

from tests.repository import source_tree

# A room (a folder or a module of tff_semifl, or one of the other top-level
# folders) may import the rooms named here, and itself.
_SEEDS = {'random_seeds', 'random_draws'}
_PARTS = _SEEDS | {
  'portable_draws',
  'sites',
  'data',
  'augment',
  'models',
  'tracing',
  'losses',
  'pseudo_labels',
  'client_prior',
  'packing',
  'optimizers',
  'schedules',
  'distribution_alignment',
  'weight_averages',
}
_ALGORITHMS = _PARTS | {'work', 'algorithms', 'privacy_key'}
_SYSTEMS = _ALGORITHMS | {'programs', 'systems'}
_EXPERIMENTS = _SYSTEMS | {'export', 'experiments', 'runtime', 'settings'}
_PROGRAMS = _EXPERIMENTS | {'sweeps', 'tasks'}
_ALLOWED = {
  'random_draws': set(),
  'random_seeds': {'random_draws'},
  'portable_draws': {'random_draws'},
  'privacy_key': set(),
  'private_api': set(),
  'sites': set(),
  'tied_process': set(),
  'settings': set(),
  'data': _PARTS,
  'augment': _PARTS,
  'models': _PARTS | {'private_api'},
  'tracing': set(),
  'losses': _PARTS,
  'pseudo_labels': _PARTS,
  'client_prior': _PARTS,
  'packing': _PARTS,
  'optimizers': _PARTS,
  'schedules': _PARTS,
  'distribution_alignment': _PARTS,
  'weight_averages': _PARTS,
  'work': _PARTS,
  'algorithms': _PARTS | {'work', 'privacy_key'},
  'programs': _ALGORITHMS | {'export'},
  'export': _ALGORITHMS | {'programs'},
  'systems': _SYSTEMS | {'settings'},
  'experiments': _EXPERIMENTS,
  'sweeps': {'programs', 'systems', 'experiments', 'tied_process'},
  'runtime': {'private_api', 'sites', 'tied_process'},
  'tasks': _SEEDS
  | {'sites', 'data', 'augment', 'models', 'settings', 'experiments'},
  'launch': _PROGRAMS | {'tied_process'},
  'benchmarks': _PROGRAMS | {'launch'},
  # As users, they have the public names alone.
  'examples': set(),
}

# What TensorFlow and TFF do not make public, and who may import it.
_PRIVATE = (
  'tensorflow.core',
  'tensorflow.python',
  'tensorflow_federated.proto',
  'tensorflow_federated.python',
)
_SHIM = 'tff_semifl/private_api.py'

# What is plain TensorFlow, to be read and tested without knowing TFF.
_WITHOUT_TFF = (
  'tff_semifl/augment/',
  'tff_semifl/losses.py',
  'tff_semifl/pseudo_labels.py',
  'tff_semifl/client_prior.py',
  'tff_semifl/distribution_alignment.py',
  'tff_semifl/weight_averages.py',
  'tff_semifl/data/partition.py',
  'tff_semifl/export/',
)


def _get_room(path: str) -> str:
  """Returns the room that a file lies in."""
  parts = path.removesuffix('.py').split('/')
  return parts[1] if parts[0] == 'tff_semifl' else parts[0]


def _check_own(path: str, imported: str) -> str | None:
  """Returns what is wrong with one file importing another."""
  room, imported_room = _get_room(path), _get_room(imported)
  # It names what users import, and imports nothing before they do.
  if 'tff_semifl/__init__.py' in (path, imported):
    return None
  if room not in _ALLOWED:
    return f'room `{room}` is unknown; please give it a line in _ALLOWED'
  if imported_room != room and imported_room not in _ALLOWED[room]:
    return f'`{room}` may not import `{imported_room}`'
  return None


def _check_other(path: str, module: str) -> str | None:
  """Returns what is wrong with a file importing another package's module."""
  if module.startswith(_PRIVATE) and path != _SHIM:
    return f'please name it in {_SHIM}, which alone uses what is not public'
  if f'{module}.'.startswith('tensorflow_federated.') and path.startswith(
    _WITHOUT_TFF
  ):
    return 'this is to be free of TFF'
  return None


def find_wrong_imports(root: pathlib.Path) -> list[str]:
  """Returns one message per import of a tree that points the wrong way."""
  wrong = []
  for path in source_tree.find_python_files(root):
    for line, module in source_tree.find_imports(root / path):
      package = module.split('.')[0]
      if package in source_tree.PACKAGES_BESIDE:
        # By another name it would be another module, with its own classes.
        problem = f'please import tff_semifl.{package}, as users do'
      elif path.startswith('tests/'):
        continue
      elif source_tree.is_own(module):
        imported = source_tree.find_module_file(root, module)
        problem = (
          _check_own(path, imported) if imported else 'there is no such module'
        )
      else:
        problem = _check_other(path, module)
      if problem:
        wrong.append(f'{path}:{line}: imports {module}: {problem}')
  return wrong


class ImportsTest(absltest.TestCase):
  def test_imports_of_the_project_point_one_way(self):
    self.assertEmpty(
      find_wrong_imports(source_tree.PROJECT_ROOT),
      'See _ALLOWED for what each room may import.',
    )

  def _write(self, **files: str) -> pathlib.Path:
    root = pathlib.Path(self.create_tempdir())
    for path, content in {
      'tff_semifl/__init__.py': '',
      'tff_semifl/losses.py': '',
      'tff_semifl/work/client.py': '',
      **files,
    }.items():
      (root / path).parent.mkdir(parents=True, exist_ok=True)
      (root / path).write_text(content)
    return root

  def test_accepts_an_arrow_the_right_way(self):
    root = self._write(
      **{
        'tff_semifl/work/client.py': 'from tff_semifl import losses\n',
        'tff_semifl/private_api.py': 'from tensorflow.python import b',
        'launch/train.py': 'from tff_semifl.work.client import build\n',
      }
    )
    self.assertEmpty(find_wrong_imports(root))

  def test_rejects_an_arrow_the_wrong_way(self):
    statements = (
      'from tff_semifl.work import client',
      'import tff_semifl.work.client',
      'def f():\n  from tff_semifl.work.client import build',
    )
    for statement in statements:
      root = self._write(**{'tff_semifl/losses.py': statement})
      (message,) = find_wrong_imports(root)
      self.assertIn('`losses` may not import `work`', message)

  def test_rejects_who_imports_launch(self):
    root = self._write(
      **{
        'launch/__init__.py': '',
        'tff_semifl/work/client.py': 'import tff_semifl.launch',
      }
    )
    (message,) = find_wrong_imports(root)
    self.assertIn('`work` may not import `launch`', message)

  def test_rejects_a_second_name_of_a_module(self):
    statement = 'from tasks import digits'
    root = self._write(**{'tests/a.py': statement, 'launch/b.py': statement})
    for message in find_wrong_imports(root):
      self.assertIn('please import tff_semifl.tasks', message)
    self.assertLen(find_wrong_imports(root), 2)

  def test_rejects_tff_where_there_is_to_be_none(self):
    root = self._write(
      **{'tff_semifl/losses.py': 'import tensorflow_federated as tff'}
    )
    (message,) = find_wrong_imports(root)
    self.assertIn('free of TFF', message)

  def test_rejects_what_is_not_public(self):
    for module in ('tensorflow_federated.python.core', 'tensorflow.python.a'):
      root = self._write(**{'tff_semifl/runtime/a.py': f'import {module}'})
      (message,) = find_wrong_imports(root)
      self.assertIn('tff_semifl/private_api.py', message)

  def test_rejects_an_unknown_room_and_an_unknown_module(self):
    root = self._write(
      **{
        'tff_semifl/new/a.py': 'from tff_semifl import losses',
        'tff_semifl/work/client.py': 'from tff_semifl.nothing import a',
      }
    )
    unknown_room, unknown_module = find_wrong_imports(root)
    self.assertIn('room `new` is unknown', unknown_room)
    self.assertIn('there is no such module', unknown_module)


if __name__ == '__main__':
  absltest.main()
