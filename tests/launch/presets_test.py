# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of --preset."""

from absl import flags
from absl.testing import absltest
from absl.testing import parameterized

from tff_semifl import settings
from tff_semifl.command_line import command_text
from tff_semifl.command_line import commands
from tff_semifl.experiments import presets as table

_NAME = 'semifl/cifar10_250_iid'
_ONE_OF_EACH_SYSTEM = {
  name.partition('/')[0]: name for name in table.names()
}.values()


def _parse(system_name, *arguments):
  return settings.as_dict(commands.parse(system_name, arguments))


class PresetsTest(parameterized.TestCase):
  def test_nothing_is_added_without_one(self):
    arguments = ['--seed=1', '--tensorboard', '--other', '2']
    self.assertEqual(command_text.expand('semifl', arguments), arguments)

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
    # The last counts.
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
      command_text.expand('fedavg_fixmatch', [f'--preset={_NAME}'])
    with self.assertRaisesRegex(settings.SettingError, '^preset=semifl/none'):
      command_text.expand('semifl', ['--preset=semifl/none'])
    with self.assertRaisesRegex(flags.Error, 'preset'):
      command_text.expand('semifl', ['--preset'])


if __name__ == '__main__':
  absltest.main()
