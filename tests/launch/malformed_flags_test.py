# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of flags with any values: results, or one line that names a flag."""

import contextlib
import io
import os
import pathlib

from absl import flags
from absl.testing import absltest
from absl.testing import flagsaver
import hypothesis
from hypothesis import strategies
import pytest

from launch import show_partition
from tests import damage
from tff_semifl import settings
from tff_semifl.cli import commands
from tff_semifl.cli import program
from tff_semifl.cli import setting_flags

_NUMBERS = strategies.sampled_from(
  # 1,387 digits have no label; clients of a Dirichlet partition take 10 each.
  ['0', '1', '-1', '2', '5', '10', '50', '138', '139', '1387', '1388']
  + ['1' * 30, '1e3', '0.5', 'nan', 'inf', '-inf', '', 'x', ' 1', '1_0', '٤']
  + ['1e-400', '1e-300', '1e-10', '0.001', '1e6', '1e308']
)
_VALUES = {
  'num_clients': _NUMBERS,
  'num_labeled': _NUMBERS,
  'classes_per_client': _NUMBERS,
  'dirichlet_concentration': _NUMBERS,
  'skew': _NUMBERS,
  'seed': _NUMBERS,
  'test_fraction': _NUMBERS,
  'image_size': strategies.sampled_from(['0', '8', 'x', '8x', '9' * 5000]),
  'partition': strategies.sampled_from(
    ['iid', 'classes', 'dirichlet', 'main_classes', 'none']
  ),
  'task': strategies.sampled_from(['digits', 'image_folder', '']),
  'image_dir': strategies.sampled_from(['/no/such', '', 'x' * 300]),
  'output_file': strategies.sampled_from(
    ['a.svg', 'a.doc', '', ',', '.png', '/proc/a.png', 'x' * 300 + '.png']
  ),
}


@pytest.mark.slow
class MalformedFlagsTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    # Files without a folder are written here.
    self.addCleanup(os.chdir, os.getcwd())
    os.chdir(self.create_tempdir().full_path)
    # The first call is slow, and would exceed the deadline of an example.
    with contextlib.redirect_stdout(io.StringIO()):
      _show({'output_file': 'first.png'})
    pathlib.Path('first.png').unlink()

  @hypothesis.given(
    strategies.lists(
      strategies.sampled_from(sorted(_VALUES)), max_size=3, unique=True
    ).flatmap(
      lambda names: strategies.fixed_dictionaries(
        {name: _VALUES[name] for name in names}
      )
    )
  )
  @damage.settings(max_examples=80)
  def test_partition_is_shown_or_a_flag_is_named(self, values):
    printed = io.StringIO()
    try:
      with contextlib.redirect_stdout(printed):
        _show(values)
    except flags.UnrecognizedFlagError as error:
      # The error explains that the setting is of another task or partition.
      self.assertIn(error.flagname, values)
    except flags.IllegalFlagValueError as error:
      self.assertRegex(str(error), '^flag --')
    except (settings.SettingError, program.FlagError) as error:
      names = '|'.join({*values, 'image_dir'})
      self.assertRegex(str(error), f'^(flag --)?({names})=')
      self.assertLen(str(error).splitlines(), 1)
      # With an error nothing is printed or drawn.
      self.assertEmpty(printed.getvalue())
      files = [each for each in pathlib.Path().rglob('*') if each.is_file()]
      self.assertEmpty(files)
    else:
      *_, line = printed.getvalue().splitlines()
      pathlib.Path(line.removeprefix('figure: ')).unlink()


def _create(changes):
  return commands.create_data(changes)


def _show(values):
  """Runs `launch.show_partition` with flags."""
  own = {k: v for k, v in values.items() if k == 'output_file'}
  arguments = [f'--{k}={v}' for k, v in values.items() if k not in own]
  part = setting_flags.choose(_create, arguments)
  flag_values = flags.FlagValues()
  setting_flags.define(part, flag_values)
  flag_values(['show_partition', *arguments])
  with flagsaver.as_parsed(**own):
    show_partition.main(_create(setting_flags.read(part, flag_values)))


if __name__ == '__main__':
  absltest.main()
