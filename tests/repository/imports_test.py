# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests that imports point one way, from algorithms to their parts."""

import pathlib

from absl.testing import absltest
from absl.testing import parameterized

from tests.repository import source_tree

# The rooms: folders and modules of tff_semifl, and the other top-level folders.
# Each may import those before it, and itself.
_ROOMS = (
  'installation',
  'private_api',
  'settings',
  'files',
  'randomness',
  'augment',
  'metrics',
  'privacy',
  'models',
  'runtime',
  'data',
  'batch_norm',
  'export',
  'features',
  'training',
  'core',
  'runs',
  'plots',
  'systems',
  'methods',
  'baselines',
  'experiments',
  'tasks',
  'results',
  'command_line',
  'launch',
  'benchmarks',
)

# Private modules of TensorFlow and TFF, and the file that may import them.
_PRIVATE = (
  'tensorflow.core',
  'tensorflow.python',
  'tensorflow_federated.proto',
  'tensorflow_federated.python',
)
_SHIM = 'tff_semifl/private_api.py'

# Plain TensorFlow, readable and testable without TFF.
_WITHOUT_TFF = (
  'tff_semifl/augment/',
  'tff_semifl/training/losses.py',
  'tff_semifl/methods/client_prior.py',
  'tff_semifl/methods/distribution_alignment.py',
  'tff_semifl/data/partition.py',
  'tff_semifl/export/',
)


def _get_room(path: str) -> str:
  """The room that a file lies in."""
  parts = path.removesuffix('.py').split('/')
  return parts[1] if parts[0] == 'tff_semifl' else parts[0]


def _check_own(path: str, imported: str) -> str | None:
  """The problem of an import of this project, or None."""
  room, imported_room = _get_room(path), _get_room(imported)
  # The file names what users import; it imports nothing itself.
  if imported == 'tff_semifl/__init__.py':
    return None
  if room == 'examples':
    return 'as users, examples have the public names alone'
  if room not in _ROOMS:
    return f'room `{room}` is unknown; please give it a place in _ROOMS'
  if _ROOMS.index(imported_room) > _ROOMS.index(room):
    return f'`{room}` may not import `{imported_room}`'
  return None


def _check_other(path: str, module: str) -> str | None:
  """The problem of an import of another package, or None."""
  if module.startswith(_PRIVATE) and path != _SHIM:
    return f'please name it in {_SHIM}, which alone uses what is not public'
  if f'{module}.'.startswith('tensorflow_federated.') and path.startswith(
    _WITHOUT_TFF
  ):
    return 'this is to be free of TFF'
  return None


def find_wrong_imports(root: pathlib.Path) -> list[str]:
  """One message per import of a tree that points the wrong way."""
  wrong = []
  for path in source_tree.find_python_files(root):
    if path.startswith('tests/') or path == 'tff_semifl/__init__.py':
      continue
    for line, module in source_tree.find_imports(root / path):
      if source_tree.is_own(module):
        imported = source_tree.find_module_file(root, module)
        problem = (
          _check_own(path, imported) if imported else 'there is no such module'
        )
      else:
        problem = _check_other(path, module)
      if problem:
        wrong.append(f'{path}:{line}: imports {module}: {problem}')
  return wrong


class ImportsTest(parameterized.TestCase):
  def test_imports_of_the_project_point_one_way(self):
    self.assertEmpty(
      find_wrong_imports(source_tree.PROJECT_ROOT),
      'See _ROOMS for what each room may import.',
    )

  @parameterized.parameters(
    ('training', 'from tff_semifl.core import a', 'may not import `core`'),
    ('training', 'def f():\n  import tff_semifl.core.a', 'may not import'),
    ('augment', 'import tensorflow_federated as tff', 'free of TFF'),
    ('runtime', 'import tensorflow.python.a', 'private_api.py'),
    ('new', 'from tff_semifl.core import a', 'room `new` is unknown'),
    ('core', 'from tff_semifl.nothing import a', 'there is no such module'),
  )
  def test_rejects(self, room, statement, message):
    root = pathlib.Path(self.create_tempdir())
    for path, content in (
      ('__init__.py', ''),
      ('core/a.py', ''),
      (f'{room}/b.py', statement),
    ):
      file = root / 'tff_semifl' / path
      file.parent.mkdir(parents=True, exist_ok=True)
      file.write_text(content)
    self.assertIn(message, ''.join(find_wrong_imports(root)))


if __name__ == '__main__':
  absltest.main()
