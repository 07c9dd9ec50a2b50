# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of --preset, of presets named in documents, and of old flagfiles."""

import pathlib
import re

from absl.testing import absltest
from absl.testing import parameterized

from tff_semifl import settings
from tff_semifl.cli import command_line
from tff_semifl.cli import commands
from tff_semifl.experiment import presets as table
from tff_semifl.experiment import system_registry

_ROOT = pathlib.Path(__file__).parents[2]
_NAME = 'semifl/cifar10_250_iid'
_ONE_OF_EACH_SYSTEM = {
  name.partition('/')[0]: name for name in table.names()
}.values()


def _parse(system_name, *arguments):
  return settings.as_dict(commands.parse(system_name, arguments))


# A kind of place, and the labels of such places.
_LABEL = r'(?:[A-Z]\.)?\d+'
_PLACES = re.compile(
  rf'\b(Table|Figure|appendix)s? ({_LABEL}(?:(?:, | to ){_LABEL})*)'
)


def _parse_places(text):
  """The places that a text names: {'Figure B.1', 'Table C.1'}."""
  places = set()
  for kind, labels in _PLACES.findall(text):
    for label in labels.split(', '):
      first, to, last = label.partition(' to ')
      if to:
        some = range(int(first), int(last) + 1)
      else:
        some = [first]
      places.update(f'{kind} {each}' for each in some)
  return places


class PresetsTest(parameterized.TestCase):
  @parameterized.parameters(*_ONE_OF_EACH_SYSTEM)
  def test_flags_mean_the_preset(self, name):
    preset = table.load(name)
    self.assertEqual(
      _parse(preset.system_name, f'--preset={name}'),
      settings.as_dict(
        commands.create(
          preset.system_name,
          {**preset.settings, 'output_dir': f'results/{name}'},
        )
      ),
    )

  @parameterized.parameters(
    (['--seed', '3', '--model_depth=10', '--preset', _NAME],),
    (['--preset', _NAME, '--model_depth', '10', '--seed=3'],),
    (['--preset=none', f'--preset={_NAME}', '--seed=3', '--model_depth=10'],),
  )
  def test_flags_win_wherever_they_stand(self, arguments):
    values = _parse('semifl', *arguments)
    self.assertEqual(values['seed'], 3)
    self.assertEqual(values['model_depth'], 10)
    self.assertEqual(values['model_width'], 2)
    self.assertEqual(values['num_labeled'], 250)

  def test_a_flagfile_wins_and_may_name_one(self):
    path = self.create_tempfile(content='--num_labeled=500\n').full_path
    values = _parse('semifl', f'--flagfile={path}', f'--preset={_NAME}')
    self.assertEqual(values['num_labeled'], 500)
    path = self.create_tempfile(content=f'--preset={_NAME}\n').full_path
    values = _parse('semifl', '--server_batch_size=5', f'--flagfile={path}')
    self.assertEqual(values['num_labeled'], 250)
    self.assertEqual(values['server_batch_size'], 5)

  def test_mistakes_are_named(self):
    with self.assertRaisesRegex(
      settings.SettingError,
      f'^preset={_NAME}: is a preset of semifl, not of fedavg_fixmatch$',
    ):
      commands.expand('fedavg_fixmatch', [f'--preset={_NAME}'])
    with self.assertRaisesRegex(settings.SettingError, '^preset=semifl/none'):
      commands.expand('semifl', ['--preset=semifl/none'])
    with self.assertRaisesRegex(command_line.UsageError, 'preset'):
      commands.expand('semifl', ['--preset'])


_PAGE = _ROOT / 'docs' / 'reproducing.md'


def _read_claims():
  """The tables and figures that the page names, by system."""
  claims = {}
  for line in _PAGE.read_text().splitlines():
    cells = [cell.strip() for cell in line.strip('|').split('|')]
    names = re.findall(r'`(\w+)`', cells[0])
    if len(cells) == 3 and {*names} & system_registry.SYSTEMS.keys():
      for name in names:
        claims[name] = _parse_places(cells[2])
  return claims


def _read_presets():
  """The tables and figures that presets name, by system."""
  found = {name: set() for name in system_registry.SYSTEMS}
  for name in table.names():
    preset = table.load(name)
    what, _, where = preset.cell.rpartition('; ')
    # The demo belongs to no paper.
    if what:
      places = _parse_places(where)
      assert places, name
      found[preset.system_name] |= places
  return found


class ClaimsTest(absltest.TestCase):
  def test_page_claims_what_there_is(self):
    self.assertEqual(_read_claims(), _read_presets())


_FOLDER = _ROOT / 'launch' / 'flagfiles' / 'results'


def _find_systems(path):
  """The systems of a flagfile, by docs/results."""
  if path.parent == _FOLDER:
    return ['semifl', 'batch_label_semifl']
  # The name of a file begins with the name of its system.
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
