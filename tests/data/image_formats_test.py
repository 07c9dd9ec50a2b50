# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of which image formats and sizes are decoded."""

import io
import pathlib
import struct
from unittest import mock
import zlib

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import PIL.EpsImagePlugin
import PIL.Image
import PIL.PngImagePlugin

from tests.data import image_tree
from tff_semifl.data import image_files
from tff_semifl.data import image_folders
from tff_semifl.data import image_listing

_REFUSED = '^is no JPEG, PNG, GIF, BMP, PPM, WebP or TIFF image$'
# Pillow's name for a JPEG file with further pictures, as many phones write it.
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
  def test_no_interpreter_is_started(self):
    path = self._write(
      b'%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 6 4\n%%EndComments\n%%EOF\n'
    )
    with PIL.Image.open(path) as image:
      self.assertEqual((image.format, image.size), ('EPS', (6, 4)))
    with mock.patch.object(PIL.EpsImagePlugin, 'Ghostscript') as interpreter:
      with self.assertRaisesRegex(image_files.ImageFileError, _REFUSED):
        image_files.read_size(path)
    interpreter.assert_not_called()

  def test_of_what_pillow_writes_some_is_read_and_all_else_refused(self):
    PIL.Image.init()
    found = {}
    for image_format in PIL.Image.SAVE:
      try:
        content = _encode(PIL.Image.new('RGB', (32, 32), 'red'), image_format)
        with PIL.Image.open(io.BytesIO(content)) as image:
          known_as = image.format
      # The format has no RGB, is write-only, or needs another library.
      except Exception:
        continue
      # By its bytes: the name is always that of a JPEG file.
      path = self._write(content)
      try:
        found[known_as] = image_files.read_size(path)
      except image_files.ImageFileError as error:
        self.assertRegex(
          str(error), f'{_REFUSED}|^has the format AVIF; convert'
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
      image_files.ImageFileError, '^has the format HEIC; convert it to JPEG, '
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
      image_files.read_image_of_any_size(path, 3).pixels,
      np.tile(np.array([255, 0, 0]), [16, 16, 1]),
      atol=3,
    )

  @parameterized.parameters('JPEG', 'PNG', 'GIF', 'BMP', 'PPM', 'WEBP', 'TIFF')
  def test_half_a_file(self, image_format):
    pixels = np.random.default_rng(0).integers(256, size=(64, 64, 3))
    image = PIL.Image.fromarray(pixels.astype(np.uint8))
    content = _encode(image, image_format)
    path = self._write(content)
    self.assertEqual(image_files.read_size(path), (64, 64))
    path.write_bytes(content[: len(content) // 2])
    with self.assertRaisesRegex(
      image_files.ImageFileError, f'^cannot be read|{_REFUSED}'
    ):
      image_files.read_image_of_any_size(path, 3)


def _color_png_of_16_bits():
  """A PNG file of 4x4 pixels, which Pillow does not write."""
  levels = np.full([4, 12], 40000, '>u2')
  rows = b''.join(b'\0' + row.tobytes() for row in levels)
  header = struct.pack('>IIBBBBB', 4, 4, 16, 2, *3 * [0])
  chunks = ((b'IHDR', header), (b'IDAT', zlib.compress(rows)), (b'IEND', b''))
  return b'\x89PNG\r\n\x1a\n' + b''.join(
    struct.pack('>I', len(content))
    + name
    + content
    + struct.pack('>I', zlib.crc32(name + content))
    for name, content in chunks
  )


class DepthTest(_FileTest):
  @parameterized.parameters(
    (np.uint16, 'PNG'), (np.uint16, 'TIFF'), (np.float32, 'TIFF')
  )
  def test_gray_levels_of_more_than_8_bits_are_refused(self, dtype, name):
    image = PIL.Image.fromarray(np.full([4, 4], 200, dtype))
    self._assert_refused(_encode(image, name))

  def test_colors_of_16_bits_are_refused(self):
    self._assert_refused(_color_png_of_16_bits())

  def _assert_refused(self, content):
    path = self._write(content)
    self.assertEqual(image_files.read_size(path), (4, 4))
    with self.assertRaisesRegex(
      image_files.ImageFileError, '^has more than 8 bits a channel'
    ):
      image_files.read_image_of_any_size(path, 3)


class NumberOfPixelsTest(_FileTest):
  # Pillow itself refuses what has more than twice the limit.
  @parameterized.parameters(1.01, 100)
  def test_bomb_is_named_and_not_decoded(self, times_the_limit):
    limit = PIL.Image.MAX_IMAGE_PIXELS
    size = int((times_the_limit * limit) ** 0.5) + 1
    root = image_tree.write_tree(self._folder / 'photos')
    path = root / 'server/cat/bomb.png'
    # A valid PNG file of one pixel, but for the size that it claims, and the
    # CRC of that claim.
    content = bytearray(_encode(PIL.Image.new('1', (1, 1)), 'PNG'))
    content[16:24] = struct.pack('>II', size, size)
    content[29:33] = struct.pack('>I', zlib.crc32(content[12:29]))
    path.write_bytes(content)
    reason = f'has {size * size:,} pixels, more than the {limit:,} that are'
    with mock.patch.object(PIL.PngImagePlugin.PngImageFile, 'load') as load:
      with self.assertRaisesRegex(
        image_files.ImageFileError, f'^{reason} decoded$'
      ):
        image_files.read_size(path)
    load.assert_not_called()
    with self.assertRaisesRegex(
      image_listing.ImageFolderError,
      f'^in {root}: server/cat/bomb.png {reason} decoded$',
    ):
      image_folders.read_image_folders(str(root))

  @parameterized.parameters('JPEG', 'WEBP')
  def test_limit_is_that_of_pillow(self, image_format):
    path = self._write(_encode(PIL.Image.new('RGB', (10, 20)), image_format))
    for limit in (200, 300, None):
      with mock.patch.object(PIL.Image, 'MAX_IMAGE_PIXELS', limit):
        self.assertEqual(image_files.read_size(path), (20, 10))
    for limit in (50, 150, 199):
      with mock.patch.object(PIL.Image, 'MAX_IMAGE_PIXELS', limit):
        with self.assertRaisesRegex(
          image_files.ImageFileError,
          f'^has 200 pixels, more than the {limit} that are decoded$',
        ):
          image_files.read_size(path)


if __name__ == '__main__':
  absltest.main()
