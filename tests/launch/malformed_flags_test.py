# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of flags with any values: results, or one line that names a flag."""

import contextlib
import io
import pathlib

from absl.testing import absltest
import hypothesis
from hypothesis import strategies
import pytest

from launch import show_partition
from tests import damage
from tff_semifl.cli import command_line
from tff_semifl.cli import commands
from tff_semifl.cli import program

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


def _show(values):
  """Runs `launch.show_partition` with flags."""
  both, _ = command_line.parse(
    commands.beside(show_partition.ShowPartition(), commands.create_data),
    [f'--{name}={value}' for name, value in values.items()],
    'program',
  )
  show_partition.main(both.own, both.part)


@pytest.mark.slow
class MalformedFlagsTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    # Files without a folder are written here.
    self.enter_context(contextlib.chdir(self.create_tempdir().full_path))
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
    except Exception as error:
      names = '|'.join({*values, 'image_dir'})
      line = program.describe(error)
      self.assertRegex(line or repr(error), f'^flag --({names})[:=]')
      self.assertLen(line.splitlines(), 1)
      # With an error nothing is printed or drawn.
      self.assertEmpty(printed.getvalue())
      files = [each for each in pathlib.Path().rglob('*') if each.is_file()]
      self.assertEmpty(files)
    else:
      *_, line = printed.getvalue().splitlines()
      pathlib.Path(line.removeprefix('figure: ')).unlink()


if __name__ == '__main__':
  absltest.main()
