# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of reading image files: good, unusual and damaged files."""

import io
import os
import pathlib
import struct
import tempfile
from unittest import mock
import zlib

from absl.testing import parameterized
import hypothesis
from hypothesis import strategies
import numpy as np
import PIL.EpsImagePlugin
import PIL.Image
import PIL.JpegImagePlugin
import PIL.PngImagePlugin

from tests import damage
from tests.data import image_tree
from tff_semifl.data import data_errors
from tff_semifl.data import image_files
from tff_semifl.data import image_folders
from tff_semifl.data import image_reading


def _noise(height, width, num_channels=3):
  return np.random.default_rng(0).integers(
    256, size=(height, width, num_channels), dtype=np.uint8
  )


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
    found, is_resized = image_files.read_image(path, (4, 6, 3))
    self.assertFalse(is_resized)
    self.assertEqual(found.dtype, np.uint8)
    np.testing.assert_array_equal(found, pixels)
    self.assertEqual(image_files.read_size(path), (4, 6))

  @parameterized.parameters(
    ('1', 1), ('L', 90), ('LA', (90, 255)), ('RGBA', (90, 90, 90, 255))
  )
  def test_colors_and_grays(self, mode, color):
    level = 255 if mode == '1' else 90
    path = self._write(PIL.Image.new(mode, (2, 3), color))
    for num_channels in (1, 3):
      np.testing.assert_array_equal(
        image_files.read_image_of_any_size(path, num_channels),
        np.full([3, 2, num_channels], level),
      )

  # White shows through the first color of the palette, index 0, fully, or by
  # (255 - 51) / 255 = 0.8 of 255.
  @parameterized.parameters(
    (0, 255), (bytes([0]), 255), (bytes([51]), 204), (bytes([255]), 0)
  )
  def test_transparency_of_palettes(self, transparent, level):
    image = PIL.Image.new('P', (16, 16), 0)
    image.putpalette([0, 0, 0, 0, 0, 0])
    image.paste(1, (2, 2, 9, 14))
    path = self._write(image, transparency=transparent)
    expected = np.full([16, 16, 1], level)
    expected[2:14, 2:9] = 0
    np.testing.assert_array_equal(
      image_files.read_image_of_any_size(path, 1), expected
    )

  @parameterized.parameters('image.png', 'image.webp', 'image.tif')
  def test_transparent_pixels_are_mixed_with_white(self, name):
    pixels = _noise(16, 16, 4)
    options = {'lossless': True} if name == 'image.webp' else {}
    path = self._write(PIL.Image.fromarray(pixels), name, **options)
    opacity = pixels[..., 3:] / 255
    np.testing.assert_array_equal(
      image_files.read_image_of_any_size(path, 3),
      np.rint(pixels[..., :3] * opacity + 255 * (1 - opacity)),
    )

  def test_colors_are_mixed_before_images_are_resized(self):
    # Half of each 2x2 block is white, and half is a transparent pixel that
    # hides black.
    pixels = np.zeros([8, 8, 4], np.uint8)
    pixels[:, ::2] = 255
    path = self._write(PIL.Image.fromarray(pixels))
    found, is_resized = image_files.read_image(path, (4, 4, 3))
    self.assertTrue(is_resized)
    np.testing.assert_array_equal(found, np.full([4, 4, 3], 255))

  @parameterized.product(
    name=('a.jpg', 'a.png', 'a.webp', 'a.tif'), orientation=(3, 6)
  )
  def test_size_is_that_of_the_upright_image(self, name, orientation):
    exif = PIL.Image.Exif()
    exif[0x0112] = orientation
    path = self._write(PIL.Image.fromarray(_noise(4, 6)), name, exif=exif)
    pixels = image_files.read_image_of_any_size(path, 3)
    self.assertEqual(pixels.shape[:2], (4, 6) if orientation < 5 else (6, 4))
    self.assertEqual(image_files.read_size(path), pixels.shape[:2])


_NO_IMAGE = '^is no JPEG, PNG, GIF, BMP, PPM, WebP or TIFF image$'
# Pillow's name for a JPEG file with further pictures, as many phones write.
_SEVERAL_JPEGS = 'MPO'
_DECODED = frozenset(
  {'JPEG', 'PNG', 'GIF', 'BMP', 'PPM', 'WEBP', 'TIFF', _SEVERAL_JPEGS}
)


def _encode(image, image_format, **kwargs):
  content = io.BytesIO()
  image.save(content, image_format, **kwargs)
  return content.getvalue()


class _FileTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self._folder = pathlib.Path(self.create_tempdir().full_path)

  def _write(self, content, name='image.jpg'):
    path = self._folder / name
    path.write_bytes(content)
    return path


class FormatsTest(_FileTest):
  def test_of_what_pillow_writes_some_is_read_and_all_else_refused(self):
    PIL.Image.init()
    found = {}
    for image_format in PIL.Image.SAVE:
      try:
        content = _encode(PIL.Image.new('RGB', (32, 32), 'red'), image_format)
        with PIL.Image.open(io.BytesIO(content)) as image:
          known_as = image.format
      # Formats without RGB, formats that cannot be read, or that need another
      # library.
      except Exception:
        continue
      # Formats are recognized by bytes: the name is always that of a JPEG file.
      path = self._write(content)
      try:
        found[known_as] = image_files.read_size(path)
      except data_errors.DataError as error:
        self.assertRegex(
          str(error), f'{_NO_IMAGE}|^has the format HEIC or AVIF'
        )
        found[known_as] = None
    self.assertEqual(
      {name for name, size in found.items() if size == (32, 32)},
      _DECODED - {_SEVERAL_JPEGS},
    )
    self.assertContainsSubset({'ICO', 'TGA', 'PCX', 'JPEG2000'}, found)

  @parameterized.parameters(b'heic', b'mif1')
  def test_photos_of_phones_are_to_be_converted(self, brand):
    # The beginning of a file of an iPhone: a box with brands.
    path = self._write(
      b'\0\0\0\x18ftyp' + brand + b'\0\0\0\0mif1heic', 'a.heic'
    )
    with self.assertRaisesRegex(
      data_errors.DataError, '^has the format HEIC or AVIF; convert it to JPEG'
    ):
      image_files.read_size(path)

  @parameterized.parameters('GIF', 'WEBP', 'TIFF', 'PNG', _SEVERAL_JPEGS)
  def test_of_several_frames_the_first_is_taken(self, image_format):
    first, *others = (
      PIL.Image.new('RGB', (16, 16), color) for color in ('red', 'blue')
    )
    path = self._write(
      _encode(first, image_format, save_all=True, append_images=others)
    )
    with PIL.Image.open(path) as image:
      self.assertEqual((image.format, image.n_frames), (image_format, 2))
    np.testing.assert_allclose(
      image_files.read_image_of_any_size(path, 3),
      np.tile(np.array([255, 0, 0]), [16, 16, 1]),
      atol=3,
    )


class NumberOfPixelsTest(_FileTest):
  # Pillow itself rejects images above twice the limit.
  @parameterized.parameters(1.01, 100)
  def test_bomb_is_named_and_not_decoded(self, times_the_limit):
    limit = PIL.Image.MAX_IMAGE_PIXELS
    size = int((times_the_limit * limit) ** 0.5) + 1
    root = image_tree.write_tree(self._folder / 'photos')
    path = root / 'server/cat/bomb.png'
    # A valid PNG file of one pixel, except for the size in its header, with the
    # CRC for that size.
    content = bytearray(_encode(PIL.Image.new('1', (1, 1)), 'PNG'))
    content[16:24] = struct.pack('>II', size, size)
    content[29:33] = struct.pack('>I', zlib.crc32(content[12:29]))
    path.write_bytes(content)
    reason = f'has {size * size:,} pixels, more than the {limit:,} that are'
    with mock.patch.object(PIL.PngImagePlugin.PngImageFile, 'load') as load:
      with self.assertRaisesRegex(data_errors.DataError, f'^{reason} decoded$'):
        image_files.read_size(path)
    load.assert_not_called()
    with self.assertRaisesRegex(
      data_errors.DataError,
      f'^in {root}: server/cat/bomb.png {reason} decoded$',
    ):
      image_folders.read_image_folders(str(root), image_reading.ImageForm(None))


def _color_png(levels):
  """A PNG file of 16 bits per channel, which Pillow cannot write."""
  rows = b''.join(b'\0' + row.astype('>u2').tobytes() for row in levels)
  header = struct.pack(
    '>IIBBBBB', levels.shape[1], levels.shape[0], 16, 2, *3 * [0]
  )
  chunks = ((b'IHDR', header), (b'IDAT', zlib.compress(rows)), (b'IEND', b''))
  return b'\x89PNG\r\n\x1a\n' + b''.join(
    struct.pack('>I', len(content))
    + name
    + content
    + struct.pack('>I', zlib.crc32(name + content))
    for name, content in chunks
  )


class DepthTest(_FileTest):
  """Images of 16 bits, whose gray levels Pillow would clip at 255."""

  def test_more_than_8_bits_a_channel_are_refused(self):
    levels = (np.arange(16).reshape(4, 4) * 4369).astype(np.uint16)
    colors = np.repeat(levels, 3).reshape(4, 4, 3)
    gray = PIL.Image.fromarray(levels)
    fractions = PIL.Image.fromarray(levels.astype(np.float32))
    for content in (
      _encode(gray, 'PNG'),
      _encode(gray, 'TIFF'),
      _encode(gray, 'TIFF', compression='tiff_lzw'),
      _encode(gray, 'PNG', transparency=4369),
      _color_png(colors),
      _encode(fractions, 'TIFF'),
      b'P5 4 4 4095\n' + levels.astype('>u2').tobytes(),
    ):
      path = self._write(content)
      with self.assertRaisesRegex(
        data_errors.DataError, '^has more than 8 bits a channel; convert it'
      ):
        image_files.read_image(path, (4, 4, 1))


_FORMATS = ('PNG', 'JPEG', 'GIF', 'BMP', 'TIFF', 'WEBP', 'PPM')


def _encode_noise(image_format, size=12):
  pixels = np.random.default_rng(0).integers(
    256, size=(size, size, 3), dtype=np.uint8
  )
  content = io.BytesIO()
  PIL.Image.fromarray(pixels).save(content, image_format)
  return content.getvalue()


class DamagedFilesTest(parameterized.TestCase):
  @parameterized.parameters(*_FORMATS)
  @damage.settings(max_examples=20)
  @hypothesis.given(strategies.data())
  def test_file_is_an_image_or_an_error_of_one_line(self, image_format, data):
    content = data.draw(damage.damaged(_encode_noise(image_format)))
    shape = data.draw(
      strategies.sampled_from([(12, 12, 3), (12, 12, 1), (5, 7, 3)])
    )
    with tempfile.NamedTemporaryFile() as file:
      pathlib.Path(file.name).write_bytes(content)
      try:
        found, _ = image_files.read_image(pathlib.Path(file.name), shape)
      except data_errors.DataError as error:
        self.assertNotEmpty(str(error))
        self.assertNotIn('\n', str(error))
      else:
        self.assertEqual(found.shape, shape)
        self.assertEqual(found.dtype, np.uint8)

  def test_what_is_no_file_is_not_opened(self):
    """Named pipes are not opened, because this would wait for a writer."""
    folder = pathlib.Path(self.create_tempdir().full_path)
    os.mkfifo(folder / 'pipe.png')
    (folder / 'loop.png').symlink_to('loop.png')
    (folder / 'gone.png').symlink_to('nowhere.png')
    (folder / 'folder.png').mkdir()
    for name in ('pipe', 'loop', 'gone', 'folder', 'none', 'x' * 300):
      with self.assertRaisesRegex(
        data_errors.DataError, '^is neither a file nor a link to one$'
      ):
        image_files.read_size(folder / f'{name}.png')
