# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of the entries of a sweep, and of the papers' numbers."""

import pathlib

from absl.testing import absltest
from absl.testing import parameterized

from tff_semifl.experiments import presets
from tff_semifl.sweeps import entries


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
    (entry,) = entries.read_flagfiles([f'semifl:{path}'])
    return entry

  def test_each_flagfile_has_its_system_in_front(self):
    first, second = self._write('a_0.3.flags'), self._write('b')
    third = self._write('semifl_c.flags')
    found = entries.read_flagfiles(
      [
        f'batch_label_semifl:{first}',
        f'semifl:{second}',
        f'semifl:{first}',
        f'semifl:{third}',
      ]
    )
    self.assertEqual(
      [(one.system_name, one.name, one.source) for one in found],
      [
        ('batch_label_semifl', 'batch_label_semifl_a_0.3', first),
        ('semifl', 'semifl_b', second),
        ('semifl', 'semifl_a_0.3', first),
        # Once is enough.
        ('semifl', 'semifl_c', third),
      ],
    )

  def test_presets_are_found_by_patterns(self):
    found = entries.find_presets(['semifl/svhn_*'])
    self.assertGreater(len(found), 3)
    for one in found:
      self.assertEqual(one.system_name, 'semifl')
      self.assertStartsWith(one.source, 'semifl/svhn_')
      self.assertEqual(one.name, one.source.replace('/', '_'))
      self.assertEqual(one.paper, presets.load(one.source).paper)
    every = entries.find_presets(['*'])
    self.assertEqual([one.source for one in every], list(presets.names()))
    entries.check_names(every)
    with self.assertRaisesRegex(ValueError, 'semifl/svnh_'):
      entries.find_presets(['semifl/svhn_*', 'semifl/svnh_*'])

  def test_what_the_paper_reached(self):
    found = self._read_one('# Paper: 93.1% (0.1): CIFAR-10, IID; Table 1.')
    self.assertEqual(found.paper, ('93.1% (0.1)', 0.931, 0.001))
    found = self._read_one('# Paper: 80.42%: SemiFL, K=2; Table 2.')
    self.assertEqual(found.paper, ('80.42%', 0.8042, None))
    found = self._read_one('# 93.1% test accuracy on two cores.')
    self.assertIsNone(found.paper)

  @parameterized.parameters(
    '# Paper: 93.1% (0.1)',
    '# Paper: about 93.1% (0.1): a word',
  )
  def test_a_paper_that_is_not_understood_is_an_error(self, first_line):
    with self.assertRaisesRegex(ValueError, 'one.flags begins .* written as'):
      self._read_one(first_line)

  def test_mistakes_are_named(self):
    one, other = self._write('one.flags'), self._write('other/one.flags')
    for names, message in (
      ([one], 'one.flags names no system; write semifl:/.*one.flags'),
      (['train:a'], 'system=train: must be one of .*semifl,'),
      ([f'semifl:{one}x'], 'cannot read .*one.flagsx: No such file'),
      (
        [f'semifl:{one}', f'semifl:{other}'],
        'one.*other.* both be semifl_one;',
      ),
    ):
      with (
        self.subTest(message),
        self.assertRaisesRegex(ValueError, message),
      ):
        entries.check_names(entries.read_flagfiles(names))
    (self.folder / 'bytes').write_bytes(b'\xff\xfe\xff')
    with self.assertRaisesRegex(ValueError, 'bytes is not a text file'):
      entries.read_flagfiles([f'semifl:{self.folder}/bytes'])


if __name__ == '__main__':
  absltest.main()
