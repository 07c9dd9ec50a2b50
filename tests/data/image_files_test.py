# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of reading image files: good, unusual and damaged ones."""

import pathlib
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import PIL.Image
import PIL.ImageDraw
import PIL.JpegImagePlugin

from tff_semifl.data import image_files

_REFUSE = image_files.OnOddSize.REFUSE
_RESIZE = image_files.OnOddSize.RESIZE


def _noise(height, width, num_channels=3):
  return np.random.default_rng(0).integers(
    256, size=(height, width, num_channels), dtype=np.uint8
  )


def _draw_circle(mode, color):
  """Returns black on a color; (0, 0, 0, 0) of 'RGBA' is transparent."""
  image = PIL.Image.new(mode, (16, 16), color)
  black = {'RGB': (0, 0, 0), 'RGBA': (0, 0, 0, 255)}[mode]
  PIL.ImageDraw.Draw(image).ellipse((2, 2, 13, 13), fill=black)
  return image


class ReadImageTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self._folder = pathlib.Path(self.create_tempdir().full_path)

  def _write(self, image, name='image.png', **kwargs):
    path = self._folder / name
    image.save(path, **kwargs)
    return path

  @parameterized.parameters('image.png', 'image.bmp', 'image.tif', 'IMAGE.PNG')
  def test_pixels_are_those_of_the_file(self, name):
    pixels = _noise(4, 6)
    path = self._write(PIL.Image.fromarray(pixels), name)
    found = image_files.read_image(path, (4, 6, 3), _REFUSE).pixels
    self.assertEqual(found.dtype, np.uint8)
    np.testing.assert_array_equal(found, pixels)
    self.assertEqual(image_files.read_size(path), (4, 6))

  def test_jpeg(self):
    pixels = np.full([16, 16, 3], (200, 100, 50), np.uint8)
    path = self._write(PIL.Image.fromarray(pixels), 'image.jpg')
    found = image_files.read_image(path, (16, 16, 3), _REFUSE).pixels
    np.testing.assert_allclose(found, pixels, atol=3)

  @parameterized.parameters(
    ('1', 1), ('L', 90), ('LA', (90, 255)), ('RGBA', (90, 90, 90, 255))
  )
  def test_colors_and_grays(self, mode, color):
    level = 255 if mode == '1' else 90
    path = self._write(PIL.Image.new(mode, (2, 3), color))
    for num_channels in (1, 3):
      np.testing.assert_array_equal(
        image_files.read_image(path, (3, 2, num_channels), _REFUSE).pixels,
        np.full([3, 2, num_channels], level),
      )

  def test_palette(self):
    image = PIL.Image.new('P', (2, 3), 1)
    image.putpalette([0, 0, 0, 10, 20, 30])
    np.testing.assert_array_equal(
      image_files.read_image(self._write(image), (3, 2, 3), _REFUSE).pixels,
      np.tile(np.array([10, 20, 30], np.uint8), [3, 2, 1]),
    )

  @parameterized.parameters('image.png', 'image.webp', 'image.tif')
  def test_transparent_files_are_the_same_as_flat_ones(self, name):
    options = {'lossless': True} if name == 'image.webp' else {}
    path = self._write(_draw_circle('RGBA', (0, 0, 0, 0)), name, **options)
    for background in ('white', 'lime'):
      flat = np.asarray(_draw_circle('RGB', background))
      found = image_files.read_image(
        path, (16, 16, 3), _REFUSE, image_files.parse_color(background)
      )
      np.testing.assert_array_equal(found.pixels, flat)
      self.assertTrue(found.is_transparent)

  # White is behind the first color of the palette, index 0, in full, or by
  # (255 - 51) / 255 = 0.8 of 255.
  @parameterized.parameters(
    (0, 255), (bytes([0]), 255), (bytes([51]), 204), (bytes([255]), 0)
  )
  def test_transparency_of_palettes(self, transparent, level):
    image = PIL.Image.new('P', (16, 16), 0)
    image.putpalette([0, 0, 0, 0, 0, 0])
    image.paste(1, (2, 2, 9, 14))
    path = self._write(image, transparency=transparent)
    found = image_files.read_image(path, (16, 16, 1), _REFUSE)
    expected = np.full([16, 16, 1], level)
    expected[2:14, 2:9] = 0
    np.testing.assert_array_equal(found.pixels, expected)
    self.assertEqual(found.is_transparent, level > 0)

  def test_partly_transparent_levels_are_mixed_to_the_nearest(self):
    pixels = _noise(16, 16, 4)
    path = self._write(PIL.Image.fromarray(pixels))
    opacity = pixels[..., 3:] / 255
    np.testing.assert_array_equal(
      image_files.read_image_of_any_size(path, 3, (10, 20, 30)).pixels,
      np.rint(pixels[..., :3] * opacity + [10, 20, 30] * (1 - opacity)),
    )

  def test_colors_are_mixed_before_images_are_resized(self):
    # Half of each 2x2 is white, half a hole that hides black.
    pixels = np.zeros([8, 8, 4], np.uint8)
    pixels[:, ::2] = 255
    path = self._write(PIL.Image.fromarray(pixels))
    found = image_files.read_image(path, (4, 4, 3), _RESIZE)
    np.testing.assert_array_equal(found.pixels, 255)

  @parameterized.parameters('no color', '', '#80808080', 'rgb(1,2)')
  def test_what_is_no_color(self, text):
    self.assertIsNone(image_files.parse_color(text))

  def test_colors_and_their_names(self):
    for color in (image_files.WHITE, (128, 0, 7)):
      name = image_files.name_color(color)
      self.assertEqual(image_files.parse_color(name), color)

  def test_photos_are_turned_upright(self):
    pixels = _noise(4, 6)
    image = PIL.Image.fromarray(pixels)
    exif = image.getexif()
    exif[0x0112] = 6  # To be shown turned by 90 degrees, clockwise.
    path = self._write(image, exif=exif)
    self.assertEqual(image_files.read_size(path), (6, 4))
    np.testing.assert_array_equal(
      image_files.read_image(path, (6, 4, 3), _REFUSE).pixels,
      np.rot90(pixels, -1),
    )

  @parameterized.product(
    name=('a.jpg', 'a.png', 'a.webp', 'a.tif'), orientation=(3, 6)
  )
  def test_size_is_that_of_the_upright_image(self, name, orientation):
    exif = PIL.Image.Exif()
    exif[0x0112] = orientation
    path = self._write(PIL.Image.fromarray(_noise(4, 6)), name, exif=exif)
    pixels = image_files.read_image_of_any_size(path, 3).pixels
    self.assertEqual(pixels.shape[:2], (4, 6) if orientation < 5 else (6, 4))
    self.assertEqual(image_files.read_size(path), pixels.shape[:2])

  def test_photo_is_not_decoded_for_its_size(self):
    path = self._write(PIL.Image.fromarray(_noise(4, 6)), 'a.jpg')
    with mock.patch.object(PIL.JpegImagePlugin.JpegImageFile, 'load') as load:
      self.assertEqual(image_files.read_size(path), (4, 6))
    load.assert_not_called()

  def test_odd_size_is_refused(self):
    path = self._write(PIL.Image.fromarray(_noise(4, 6)))
    with self.assertRaisesRegex(
      image_files.ImageFileError, '^is 4x6, not 6x4$'
    ):
      image_files.read_image(path, (6, 4, 3), _REFUSE)

  def test_odd_size_is_resized_in_proportion_and_cut(self):
    # Half the size, then a column off on either side: black is gone, but for
    # what the filter mixes in. Squeezed into the size, 2 of the 3 columns that
    # make the first one would be black.
    pixels = np.zeros([8, 12, 3], np.uint8)
    pixels[:, 2:10] = 200
    path = self._write(PIL.Image.fromarray(pixels))
    np.testing.assert_allclose(
      image_files.read_image(path, (4, 4, 3), _RESIZE).pixels, 200, atol=30
    )

  def test_resizing_leaves_what_has_the_size(self):
    pixels = _noise(4, 6)
    path = self._write(PIL.Image.fromarray(pixels))
    np.testing.assert_array_equal(
      image_files.read_image(path, (4, 6, 3), _RESIZE).pixels, pixels
    )

  def test_resizing_averages_what_it_makes_smaller(self):
    # Antialiasing turns a checkerboard gray.
    pixels = np.indices((16, 16)).sum(axis=0) % 2 * 255
    path = self._write(PIL.Image.fromarray(pixels.astype(np.uint8)))
    found = image_files.read_image(path, (4, 4, 1), _RESIZE).pixels
    np.testing.assert_allclose(found, 127.5, atol=20)

  def test_colors_without_a_gray_form(self):
    file = self._folder / 'a.tif'
    PIL.Image.new('LAB', (8, 8)).save(file)
    with self.assertRaisesRegex(
      image_files.ImageFileError, '^cannot be read .*LAB'
    ):
      image_files.read_image(file, (8, 8, 1), _REFUSE)


if __name__ == '__main__':
  absltest.main()
