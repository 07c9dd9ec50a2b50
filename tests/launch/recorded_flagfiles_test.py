# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests that flagfiles that made recorded results are still taken."""

import pathlib

from absl.testing import absltest
from absl.testing import parameterized

from tff_semifl import settings
from tff_semifl.command_line import commands
from tff_semifl.experiments import system_registry

_ROOT = pathlib.Path(__file__).parents[2]
_FOLDER = _ROOT / 'launch' / 'flagfiles' / 'results'


def _find_systems(path):
  """Returns the systems of a flagfile, by docs/results."""
  if path.parent == _FOLDER:
    return ['semifl', 'batch_label_semifl']
  # A file's name begins with that of its system.
  names = [
    name for name in system_registry.SYSTEMS if path.stem.startswith(name)
  ]
  return [max(names, key=len)]


_FLAGFILES = [
  (path.relative_to(_FOLDER).as_posix(), system)
  for path in sorted(_FOLDER.rglob('*.flags'))
  for system in _find_systems(path)
]


class RecordedFlagfilesTest(parameterized.TestCase):
  @parameterized.parameters(
    'cifar10_1000_iid',
    'digits_50_iid',
    'digits_50_classes2',
    'digits_50_dirichlet0.1',
  )
  def test_there_is_one_for_all_results(self, page):
    results = (_ROOT / 'docs' / 'results' / page).glob('*_seed*')
    self.assertContainsSubset(
      {path.name.rpartition('_seed')[0] for path in results},
      {path.stem for path in (_FOLDER / page).iterdir()},
    )

  @parameterized.parameters(*_FLAGFILES)
  def test_all_flags_are_taken(self, name, system):
    path = _FOLDER / name
    lines = path.read_text().splitlines()
    self.assertStartsWith(lines[0], '# ')
    command = commands.parse(system, [f'--flagfile={path}'])
    values = settings.as_dict(command)
    for line in lines:
      if line.startswith('--'):
        flag, _, value = line.removeprefix('--').partition('=')
        kind = type(values[flag])
        if kind is bool:
          self.assertEqual(str(values[flag]).lower(), value)
        else:
          self.assertEqual(values[flag], kind(value))


if __name__ == '__main__':
  absltest.main()
