# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of the programs that choose images and check labels."""

import base64
import csv
import io
import pathlib
import re

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import PIL.Image

from launch import check_labels
from launch import choose_images
from tests.launch import programs
from tests.models.frozen import small_backbone
from tff_semifl import settings
from tff_semifl.cli import command_line

_COLORS = {'red': (200, 20, 20), 'green': (20, 200, 20), 'blue': (20, 20, 200)}


def _write(file, color, generator):
  """Writes an image with noise around a color."""
  file.parent.mkdir(parents=True, exist_ok=True)
  level = np.array(_COLORS[color]) + generator.integers(-15, 16, 3)
  PIL.Image.fromarray(np.full([8, 6, 3], level, np.uint8)).save(file)


def _read_table(path):
  with path.open(newline='') as file:
    return [*csv.DictReader(file)]


def _read_images(page):
  """The sizes of the images that a page shows."""
  found = re.findall(r'data:image/png;base64,([^"]*)', page.read_text())
  return [
    PIL.Image.open(io.BytesIO(base64.b64decode(each))).size for each in found
  ]


class ProgramsTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self._folder = pathlib.Path(self.create_tempdir().full_path)
    self._output = self._folder / 'results' / 'table.csv'

  def _run(self, program, own, **values):
    backbone = self._folder / 'mine.keras'
    if not backbone.exists():
      small_backbone.create_network().save(backbone)
    values = {
      'model': f'frozen:{backbone}',
      'feature_cache': self._folder / 'cache',
      'output_file': self._output,
    } | values
    return programs.run(program.main, own, **values)

  def _choose(self, **values):
    return self._run(choose_images, choose_images.ChooseImages(), **values)

  def _check(self, **values):
    return self._run(check_labels, check_labels.CheckLabels(), **values)

  def _write_images(self, root, *colors, each=8):
    generator = np.random.default_rng(0)
    for color in colors:
      for number in range(each):
        _write(root / f'{color} {number}.png', color, generator)

  def test_two_rounds_of_choice(self):
    new, photos = self._folder / 'new', self._folder / 'photos'
    self._write_images(new, *_COLORS)
    lines = self._choose(image_dir=new, number=2, copy_to=photos)
    self.assertContainsSubset(['images: 24', 'chosen: 2'], lines)
    rows = _read_table(self._output)
    self.assertEqual([*rows[0]], ['file', 'label', 'images_alike'])
    self.assertEqual(
      _read_images(self._output.with_suffix('.html')), [(6, 8)] * 2
    )
    copies = sorted((photos / 'to_sort').iterdir())
    for row, copy in zip(rows, copies, strict=True):
      original = pathlib.Path(row['file'])
      self.assertEndsWith(copy.name, original.name.replace(' ', '_'))
      self.assertEqual(copy.read_bytes(), original.read_bytes())
    with self.assertRaisesRegex(settings.SettingError, 'to_sort is not empty'):
      self._choose(image_dir=new, copy_to=photos, overwrite=True)
    for name, copy in zip(('red', 'other'), copies, strict=True):
      (photos / 'server' / name).mkdir(parents=True)
      copy.rename(photos / 'server' / name / copy.name)
    self._choose(
      image_dir=new,
      number=1,
      labeled_dir=photos / 'server',
      overwrite=True,
      copy_to=photos,
    )
    colors = {pathlib.Path(row['file']).name[:3] for row in rows}
    [row] = _read_table(self._output)
    self.assertNotIn(pathlib.Path(row['file']).name[:3], colors)

  def test_finds_a_wrong_label(self):
    server = self._folder / 'server'
    for color in _COLORS:
      self._write_images(server / color, color)
    (server / 'red/red 0.png').rename(server / 'blue/wrong.png')
    self._write_images(self._folder / 'new', *_COLORS, each=20)
    lines = self._check(labeled_dir=server, image_dir=self._folder / 'new')
    self.assertIn('labels: 24', lines)
    first = _read_table(self._output)[0]
    self.assertEndsWith(first['file'], 'wrong.png')
    self.assertEqual((first['label'], first['expected']), ('blue', 'red'))
    self.assertLess(float(first['probability']), 0.05)
    self.assertEqual(first['nearest'].count('/red/'), 3)
    self.assertLen(
      _read_images(self._output.with_suffix('.html')), 24 * (1 + 3)
    )

  def test_chooses_and_checks_rows_of_a_file(self):
    generator = np.random.default_rng(0)
    kinds = np.arange(40) % 2
    features = generator.normal(size=[40, 4]) + 9 * kinds[:, np.newaxis]
    file = self._folder / 'mine.npz'
    np.savez(file, features=features)
    lines = self._choose(features_file=file, number=2)
    self.assertContainsSubset(['images: 40', 'chosen: 2'], lines)
    self.assertIn('page: none, as a features file has no images', lines)
    self.assertFalse(self._output.with_suffix('.html').exists())
    rows = [int(row['file']) for row in _read_table(self._output)]
    self.assertCountEqual(kinds[rows], [0, 1])
    labels = np.where(np.isin(np.arange(40), rows), kinds, -1)
    np.savez(file, features=features, labels=labels)
    self._choose(features_file=file, number=38, overwrite=True)
    more = [int(row['file']) for row in _read_table(self._output)]
    self.assertNoCommonElements(rows, more)
    labels[:20] = kinds[:20]
    labels[5] = 0  # A wrong label.
    np.savez(file, features=features, labels=labels)
    self._check(features_file=file, overwrite=True)
    first = _read_table(self._output)[0]
    self.assertEqual((first['file'], first['expected']), ('5', '1'))
    np.savez(file, features=features, labels=kinds)
    with self.assertRaisesRegex(settings.SettingError, '^features_file=.*all'):
      self._choose(features_file=file, overwrite=True)

  @parameterized.parameters(
    ('choose', {}, 'give --image_dir or --features_file'),
    ('choose', {'image_dir': 'a', 'features_file': 'b'}, 'not both'),
    ('choose', {'features_file': '/no'}, '^features_file=/no: there is no'),
    ('choose', {'copy_to': 'a', 'features_file': 'b'}, '^copy_to=a: needs'),
    ('choose', {'image_dir': '/no'}, '^image_dir=/no: /no is missing'),
    ('choose', {'output_file': 'a.png'}, '^output_file=.*name a .csv file'),
    ('choose', {'model': 'linear'}, '^model=linear: must be one of frozen:'),
    ('check', {}, 'give --labeled_dir or --features_file'),
    ('check', {'labeled_dir': 'a', 'features_file': 'b'}, 'not both'),
    ('check', {'labeled_dir': '/no'}, '^labeled_dir=/no: .*is missing'),
  )
  def test_says_what_is_wrong(self, program, values, message):
    run = self._choose if program == 'choose' else self._check
    with self.assertRaisesRegex(
      (settings.SettingError, command_line.UsageError), message
    ):
      run(**values)


if __name__ == '__main__':
  absltest.main()
