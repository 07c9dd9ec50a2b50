# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests that imports have one direction, from algorithms to their parts."""

from absl.testing import absltest

from tests.repository import source_tree

# The rooms: folders and modules of tff_semifl, and the other top-level folders.
# A room may import itself and the rooms before it.
_ROOMS = (
  'private_api',
  'settings',
  'files',
  'randomness',
  'augment',
  'metrics',
  'privacy',
  'runtime',
  'data',
  'models',
  'label_shift',
  'export',
  'core',
  'plots',
  'algorithms',
  'baselines',
  'experiment',
  'tasks',
  'results',
  'cli',
  'launch',
  'benchmarks',
)

# Private modules of TensorFlow and TFF, and the file that may import them.
_PRIVATE = (
  'tensorflow.core',
  'tensorflow.python',
  'tensorflow.tsl',
  'tensorflow_federated.proto',
  'tensorflow_federated.python',
)
_SHIM = 'tff_semifl/private_api.py'

# Plain TensorFlow, which can be read and tested without TFF.
_WITHOUT_TFF = (
  'tff_semifl/augment/',
  'tff_semifl/core/losses.py',
  'tff_semifl/algorithms/client_prior.py',
  'tff_semifl/algorithms/client_parts.py',
  'tff_semifl/data/partition.py',
  'tff_semifl/export/',
)


def _get_room(path: str) -> str:
  """The room of a file."""
  parts = path.removesuffix('.py').split('/')
  return parts[1] if parts[0] == 'tff_semifl' else parts[0]


def _check(path: str, module: str) -> str | None:
  """Describes a forbidden import; None for an allowed import."""
  if module.split('.')[0] not in source_tree.SOURCE_FOLDERS:
    if module.startswith(_PRIVATE) and path != _SHIM:
      return f'please name it in {_SHIM}, which alone uses what is not public'
    if f'{module}.'.startswith('tensorflow_federated.') and path.startswith(
      _WITHOUT_TFF
    ):
      return 'this is to be free of TFF'
    return None
  imported = source_tree.find_module_file(module)
  if imported is None:
    return 'there is no such module'
  # The file lists what users import; it imports nothing itself.
  if imported == 'tff_semifl/__init__.py':
    return None
  room, imported_room = _get_room(path), _get_room(imported)
  if room == 'examples':
    return 'as users, examples have the public names alone'
  if _ROOMS.index(imported_room) > _ROOMS.index(room):
    return f'`{room}` may not import `{imported_room}`'
  return None


class ImportsTest(absltest.TestCase):
  def test_imports_of_the_project_point_one_way(self):
    wrong = []
    for path in source_tree.find_python_files():
      if path.startswith('tests/') or path == 'tff_semifl/__init__.py':
        continue
      for line, module in source_tree.find_imports(path):
        if problem := _check(path, module):
          wrong.append(f'{path}:{line}: imports {module}: {problem}')
    self.assertEmpty(wrong, 'See _ROOMS for what each room may import.')
