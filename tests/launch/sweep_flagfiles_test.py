# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of a sweep's flagfiles: what trains them, what the paper reached."""

import pathlib

from absl.testing import absltest
from absl.testing import parameterized

from launch.sweeps import flagfiles

_LAUNCH = pathlib.Path(__file__).parents[2] / 'launch'


class FlagfilesTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.folder = pathlib.Path(self.create_tempdir().full_path)

  def _write(self, name, text='# Nothing.\n--seed=1\n'):
    path = self.folder / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    return str(path)

  def _read_one(self, first_line):
    path = self._write('one.flags', f'{first_line}\n--task=digits\n')
    (flagfile,) = flagfiles.read_flagfiles([path], 'train_semifl')
    return flagfile

  def test_all_training_programs_are_known(self):
    self.assertCountEqual(
      flagfiles.PROGRAMS,
      [
        path.stem
        for path in _LAUNCH.glob('train_*.py')
        if 'program.run(main)' in path.read_text()
      ],
    )

  def test_program_is_named_for_one_or_for_all(self):
    first, second = self._write('a_0.3.flags'), self._write('b')
    found = flagfiles.read_flagfiles(
      [f'train_batch_label_semifl:{first}', second, first], 'train_semifl'
    )
    self.assertEqual(
      [(one.program, one.name, str(one.path)) for one in found],
      [
        ('train_batch_label_semifl', 'batch_label_semifl_a_0.3', first),
        ('train_semifl', 'semifl_b', second),
        ('train_semifl', 'semifl_a_0.3', first),
      ],
    )

  def test_what_the_paper_reached(self):
    found = self._read_one('# Paper: 93.1% (0.1): CIFAR-10, IID; Table 1.')
    self.assertEqual(found.paper, ('93.1% (0.1)', 0.931, 0.001))
    found = self._read_one('# Paper: 80.42%: SemiFL, K=2; Table 2.')
    self.assertEqual(found.paper, ('80.42%', 0.8042, None))
    found = self._read_one('# 93.1% test accuracy on two cores.')
    self.assertIsNone(found.paper)

  def test_those_of_all_cells_are_understood(self):
    # A folder is called as the system that its cells are of.
    entries = [
      f'{program}:{path}'
      for program, system in flagfiles.PROGRAMS.items()
      for path in (_LAUNCH / 'flagfiles' / system.name).glob('*.flags')
      if path.stem != 'digits_50_iid'
    ]
    self.assertGreater(len(entries), 30)
    for cell in flagfiles.read_flagfiles(entries, None):
      if cell.path.read_text().startswith('# No number: '):
        self.assertIsNone(cell.paper)
      else:
        self.assertBetween(cell.paper.mean, 0.01, 0.99)

  @parameterized.parameters(
    '# Paper: 93%: no digits after the point',
    '# Paper: 93.1% (0.1)',
    '# Paper: 93.1 (0.1): no sign',
    '# Paper:93.1% (0.1): no space',
    '# Paper: about 93.1% (0.1): a word',
  )
  def test_a_paper_that_is_not_understood_is_an_error(self, first_line):
    with self.assertRaisesRegex(ValueError, 'one.flags begins .* written as'):
      self._read_one(first_line)

  def test_mistakes_are_named(self):
    one, other = self._write('one.flags'), self._write('other/one.flags')
    for entries, program, message in (
      ([], 'train_semifl', 'name at least one'),
      ([one], None, 'what trains .*one.flags.*--program.*train_semifl:'),
      (
        ['train:a'],
        None,
        "train:a: there is no program 'train'; there are .*train_semifl",
      ),
      ([f'{one}x'], 'train_semifl', 'cannot read .*one.flagsx: No such file'),
      ([str(self.folder)], 'train_semifl', 'cannot read .*: Is a directory'),
      ([''], 'train_semifl', 'cannot read'),
      ([one, other], 'train_semifl', '.*one.*other.* both be semifl_one;'),
      ([one, one], 'train_semifl', 'both be semifl_one;'),
    ):
      with (
        self.subTest(message),
        self.assertRaisesRegex(ValueError, message),
      ):
        flagfiles.read_flagfiles(entries, program)
    (self.folder / 'bytes').write_bytes(b'\xff\xfe\xff')
    with self.assertRaisesRegex(ValueError, 'bytes is no text'):
      flagfiles.read_flagfiles([f'train_semifl:{self.folder}/bytes'], None)


if __name__ == '__main__':
  absltest.main()
