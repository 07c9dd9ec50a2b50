# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests that TensorFlow decodes PNG files as training does."""

import pathlib

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import PIL.Image
import tensorflow as tf

from tff_semifl.data import image_files
from tff_semifl.export import saved_model

# So many colors that an error of 1/65536 in a weight of gray changes some.
_NOISE = np.random.default_rng(0).integers(
  256, size=(250, 200, 4), dtype=np.uint8
)


def _create(mode):
  image = PIL.Image.fromarray(_NOISE)
  # Few colors, which files store in fewer than 8 bits.
  return (
    image.convert('RGB').quantize(4) if mode == 'P' else image.convert(mode)
  )


class DecodeTest(parameterized.TestCase):
  @parameterized.product(
    mode_and_transparency=(
      ('RGBA', None),
      ('LA', None),
      ('RGB', tuple(_NOISE[2, 3, :3].tolist())),
      ('P', bytes([0, 128, 255])),
      ('P', 1),
      ('1', 0),
      ('RGB', None),
      ('L', None),
      ('P', None),
      ('1', None),
    ),
    num_channels=(1, 3),
  )
  def test_pixels_are_those_of_training(
    self, mode_and_transparency, num_channels
  ):
    mode, transparency = mode_and_transparency
    file = pathlib.Path(self.create_tempdir().full_path) / 'image.png'
    options = {} if transparency is None else {'transparency': transparency}
    _create(mode).save(file, **options)
    np.testing.assert_array_equal(
      saved_model.decode(tf.constant(file.read_bytes()), num_channels),
      image_files.read_image_of_any_size(file, num_channels),
    )

  def test_file_that_is_too_short_is_no_image(self):
    for content in (b'', b'\x89PNG\r\n\x1a\n'):
      with self.assertRaises(tf.errors.InvalidArgumentError):
        saved_model.decode(tf.constant(content), 3)


if __name__ == '__main__':
  absltest.main()
