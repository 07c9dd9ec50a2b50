# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of the picture of augmentations."""

import contextlib
import io
import pathlib
import subprocess
import sys

from absl.testing import absltest
from absl.testing import flagsaver
from absl.testing import parameterized
import numpy as np
from PIL import Image

from launch import program
from launch import show_augmentations
from tasks import digits

_ROOT = pathlib.Path(__file__).parents[2]


def _read(path):
  """Returns the picture as uint8 [height, width, 3]."""
  with Image.open(path) as image:
    assert image.format == 'PNG'
    return np.asarray(image.convert('RGB'))


class ShowAugmentationsTest(parameterized.TestCase):
  def _show(self, **flag_values):
    """Runs the program in this process and returns its picture."""
    path = pathlib.Path(self.create_tempdir().full_path, 'new', 'picture.png')
    output = io.StringIO()
    with (
      flagsaver.flagsaver(
        task='digits', num_images=3, augmentations_file=str(path), **flag_values
      ),
      contextlib.redirect_stdout(output),
    ):
      show_augmentations.main()
    self.assertEqual(output.getvalue(), f'picture: {path}\n')
    return _read(path)

  @parameterized.parameters(None, 'semifl', 'fixmatch', 'keras_cv')
  def test_shows_the_images_and_ten_columns(self, name):
    picture = self._show(strong_augmentation=name)
    # Images of 8x8 are drawn as 64x64, with 6 pixels before, between and after,
    # and 16 more for the names above.
    self.assertEqual(picture.shape, (16 + 3 * 70 + 6, 10 * 70 + 6, 3))
    cells = np.stack(
      [
        [
          picture[22 + row * 70 :, 6 + column * 70 :][:64, :64]
          for column in range(10)
        ]
        for row in range(3)
      ]
    )
    levels = cells[:, :, 4::8, 4::8]
    np.testing.assert_array_equal(
      cells, levels.repeat(8, axis=2).repeat(8, axis=3)
    )
    # In the first column are the first images, as they are; every row has more
    # views than one.
    images = digits.create_task().load(None).train.images[:3]
    np.testing.assert_array_equal(
      levels[:, 0], np.broadcast_to(images, [3, 8, 8, 3])
    )
    for views in levels:
      self.assertGreater(len(np.unique(views[2:], axis=0)), 3)

  def test_names_the_columns(self):
    picture = self._show(strong_augmentation='semifl')
    headings = picture[3:20, 6:].min(axis=(0, 2))
    for column in range(10):
      self.assertLess(headings[column * 70 : column * 70 + 64].min(), 50)

  def test_augmentations_and_seeds_give_other_pictures(self):
    pictures = [
      self._show(strong_augmentation=name, seed=seed)
      for name, seed in (
        ('semifl', 0),
        ('semifl', 0),
        ('semifl', 1),
        ('fixmatch', 0),
        (None, 0),
      )
    ]
    np.testing.assert_array_equal(pictures[0], pictures[1])
    for index, picture in enumerate(pictures[2:]):
      for other in pictures[: index + 2]:
        self.assertFalse(np.array_equal(picture, other))

  def test_too_many_images(self):
    with flagsaver.flagsaver(task='digits', num_images=10000):
      with self.assertRaisesRegex(
        program.FlagError, '--num_images=10000: there are 1437 images'
      ):
        show_augmentations.main()

  def test_file_that_cannot_be_written(self):
    with flagsaver.flagsaver(
      task='digits',
      num_images=1,
      augmentations_file='/proc/nothing/picture.png',
    ):
      with self.assertRaisesRegex(
        program.FlagError,
        '--augmentations_file=/proc/nothing/picture.png: .*nothing',
      ):
        show_augmentations.main()

  def test_the_real_program(self):
    folder = self.create_tempdir().full_path
    completed = subprocess.run(
      [
        sys.executable,
        '-m',
        'launch.show_augmentations',
        '--task=digits',
        '--strong_augmentation=semifl',
        '--num_images=2',
        f'--augmentations_file={folder}/picture.png',
      ],
      cwd=_ROOT,
      capture_output=True,
      text=True,
      timeout=100,
    )
    self.assertEqual(completed.returncode, 0, completed.stderr)
    self.assertEqual(completed.stdout, f'picture: {folder}/picture.png\n')
    self.assertEqual(
      _read(f'{folder}/picture.png').shape, (16 + 2 * 70 + 6, 706, 3)
    )

  def test_augmentation_that_there_is_not(self):
    completed = subprocess.run(
      [
        sys.executable,
        '-m',
        'launch.show_augmentations',
        '--strong_augmentation=weak',
      ],
      cwd=_ROOT,
      capture_output=True,
      text=True,
      timeout=100,
    )
    self.assertEqual(completed.returncode, 1)
    self.assertIn(
      '--strong_augmentation=weak: value should be one of'
      ' <fedmatch|fixmatch|fixmatch_pytorch|keras_cv|semifl>',
      completed.stderr,
    )


if __name__ == '__main__':
  absltest.main()
