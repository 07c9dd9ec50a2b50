# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of finding backbones by name."""

import pathlib
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized

from tests.features import small_backbone
from tff_semifl.features import backbone as backbone_lib
from tff_semifl.features import backbones
from tff_semifl.features import efficientnet_lite


class BackbonesTest(parameterized.TestCase):
  def test_loads_a_file_as_it_is(self):
    path = pathlib.Path(self.create_tempdir().full_path) / 'mine.keras'
    small_backbone.create_network().save(path)
    backbone = backbones.load(str(path), input_range='-1_to_1')
    self.assertEqual(backbone.image_size, (4, 4))
    self.assertEqual(
      backbone.digest, small_backbone.create(input_range='-1_to_1').digest
    )

  @parameterized.parameters(
    (efficientnet_lite, 'load', 'efficientnet_lite0', ()),
    (backbones, 'load_application', 'ResNet50', ('ResNet50', 'imagenet')),
    (
      backbones,
      'load_keras_cv',
      'resnet50_imagenet',
      ('resnet50_imagenet', '0_to_255'),
    ),
  )
  def test_chooses_by_name(self, module, function, name, arguments):
    for size, expected in ((None, (224, 224)), ((64, 64), (64, 64))):
      with mock.patch.object(module, function) as load:
        backbones.load(name, image_size=size)
      load.assert_called_once_with(*arguments[:1], expected, *arguments[1:])

  @parameterized.parameters(
    ('mobilenetv2', r'mobilenetv2: .*\(did you mean MobileNetV2\?\)'),
    ('efficientnet_lite', r'\(did you mean efficientnet_lite0\?\)'),
    ('efficientnet', r'\(did you mean efficientnet_lite0\?\)'),
    ('/tmp/no/folder', r'there is none of this name; give efficientnet_lite0'),
  )
  def test_names_what_there_is(self, name, message):
    with self.assertRaisesRegex(backbone_lib.BackboneError, message):
      backbones.load(name)

  @parameterized.parameters(
    ('efficientnet_lite0', 'weights', 'imagenet'),
    ('efficientnet_lite0', 'input_range', '0_to_1'),
    ('MobileNetV2', 'input_range', '0_to_1'),
    ('mine.keras', 'weights', 'imagenet'),
  )
  def test_refuses_what_would_be_ignored(self, name, argument, value):
    with self.assertRaisesRegex(
      ValueError,
      f"^{argument}: found '{value}', but {name} has its own; leave it out$",
    ):
      backbones.load(name, **{argument: value})


if __name__ == '__main__':
  absltest.main()
