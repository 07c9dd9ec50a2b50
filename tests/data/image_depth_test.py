# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of reading images of 12 and 16 bits a channel."""

import pathlib
import struct
import zlib

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import PIL.Image

from tff_semifl.data import image_files

# 16 steps from black to white in 16 bits: 65535 = 15 * 4369. In 8 bits each is
# a multiple of 255 / 15 = 17, without rounding.
_STEPS = np.arange(16).reshape(4, 4)
_LEVELS = (_STEPS * 4369).astype(np.uint16)
_EXPECTED = _STEPS * 17


def _tiff(bits, content, *, white_is_zero=False):
  """Returns a TIFF file of 4x4 gray pixels, which Pillow does not write."""
  short, long = 3, 4
  tags = {
    256: (short, 4),
    257: (short, 4),
    258: (short, bits),
    259: (short, 1),
    262: (short, 0 if white_is_zero else 1),
    273: (long, 8 + 2 + 9 * 12 + 4),
    277: (short, 1),
    278: (short, 4),
    279: (long, len(content)),
  }
  entries = b''.join(
    struct.pack('<HHII', tag, kind, 1, value)
    for tag, (kind, value) in tags.items()
  )
  return (
    b'II*\0' + struct.pack('<IH', 8, len(tags)) + entries + bytes(4) + (content)
  )


def _color_png(levels):
  """Returns a PNG file of 16 bits a channel, which Pillow does not write."""
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


class ImageDepthTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self._file = pathlib.Path(self.create_tempdir().full_path, 'image')

  def _read(self, num_channels=1):
    return image_files.read_image(
      self._file, (4, 4, num_channels), image_files.OnOddSize.REFUSE
    ).pixels

  def _assert_read(self, expected):
    for num_channels in (1, 3):
      np.testing.assert_array_equal(
        self._read(num_channels),
        np.repeat(np.expand_dims(expected, -1), num_channels, axis=-1),
      )

  def _assert_refused(self, message):
    with self.assertRaisesRegex(image_files.ImageFileError, message):
      self._read()

  @parameterized.parameters(
    ('PNG', '<u2', {}),
    ('TIFF', '>u2', {}),
    ('TIFF', '<u2', {'compression': 'tiff_lzw'}),
  )
  def test_gray_of_16_bits(self, image_format, dtype, options):
    image = PIL.Image.fromarray(_LEVELS.astype(dtype))
    image.save(self._file, image_format, **options)
    self._assert_read(_EXPECTED)

  def test_levels_are_rounded_to_the_nearest(self):
    # 255 / 65535 is 1 / 257.
    levels = np.full([4, 4], 257 * 100, np.uint16)
    levels[0] = 257 * 100 + np.array([-129, -128, 128, 129])
    PIL.Image.fromarray(levels).save(self._file, 'PNG')
    np.testing.assert_array_equal(self._read()[0, :, 0], [99, 100, 100, 101])

  @parameterized.parameters('PNG', 'TIFF')
  def test_is_turned_upright(self, image_format):
    image = PIL.Image.fromarray(_LEVELS)
    exif = image.getexif()
    exif[0x0112] = 6  # To be shown turned by 90 degrees, clockwise.
    image.save(self._file, image_format, exif=exif)
    self._assert_read(np.rot90(_EXPECTED, -1))

  def test_resizing_is_of_the_scaled_image(self):
    PIL.Image.fromarray(np.full([8, 8], 257 * 90, np.uint16)).save(
      self._file, 'PNG'
    )
    found = image_files.read_image(
      self._file, (4, 4, 1), image_files.OnOddSize.RESIZE
    ).pixels
    np.testing.assert_array_equal(found, np.full([4, 4, 1], 90))

  def test_tiff_of_12_bits_in_3_bytes_for_2_pixels(self):
    # 4095 = 15 * 273.
    text = ''.join(f'{273 * step:03x}' for step in range(16))
    self._file.write_bytes(_tiff(12, bytes.fromhex(text)))
    self._assert_read(_EXPECTED)

  def test_tiff_whose_zero_is_white(self):
    content = _LEVELS.astype('<u2').tobytes()
    self._file.write_bytes(_tiff(16, content, white_is_zero=True))
    self._assert_read(255 - _EXPECTED)

  def test_pgm_says_itself_what_is_white(self):
    content = (_STEPS * 273).astype('>u2').tobytes()
    self._file.write_bytes(b'P5 4 4 4095\n' + content)
    self._assert_read(_EXPECTED)

  def test_colors_of_16_bits(self):
    colors = np.stack([_LEVELS, _LEVELS.T, _LEVELS[::-1]], axis=-1)
    self._file.write_bytes(_color_png(colors))
    np.testing.assert_array_equal(self._read(3), colors // 257)

  @parameterized.parameters('PNG', 'TIFF')
  def test_12_bits_in_files_of_16_are_refused(self, image_format):
    PIL.Image.fromarray(_LEVELS >> 4).save(self._file, image_format)
    self._assert_refused(
      '^has 16 bits a channel but no level above 4095 of 65535: it is very'
      ' dark, or of 10, 12 or 14 bits; convert it to 8 bits$'
    )

  def test_colors_of_12_bits_in_files_of_16_are_refused(self):
    self._file.write_bytes(
      _color_png(np.repeat(_LEVELS >> 4, 3).reshape(4, 4, 3))
    )
    # Pillow has the upper byte, 15.
    self._assert_refused('^has 16 bits a channel but no level above 3840 of')

  def test_black_is_black(self):
    PIL.Image.fromarray(np.zeros([4, 4], np.uint16)).save(self._file, 'PNG')
    self._assert_read(np.zeros([4, 4]))

  @parameterized.parameters(np.int32, np.float32)
  def test_levels_without_a_scale_are_refused(self, dtype):
    PIL.Image.fromarray(_LEVELS.astype(dtype)).save(self._file, 'TIFF')
    self._assert_refused('^has levels of no clear scale .*; convert it to 8')


if __name__ == '__main__':
  absltest.main()
