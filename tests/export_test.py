# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of the exported SavedModel."""

import pathlib

from absl.testing import absltest
import numpy as np
import tensorflow as tf

from tff_semifl import export
from tff_semifl.models import functional
from tff_semifl.models import wide_resnet

_NAMES = ('cat', 'dog', 'owl')


def _create_model(seed):
  return wide_resnet.create_wide_resnet(
    (8, 8, 1),
    3,
    depth=4,
    width=1,
    pixel_mean=(0.5,),
    pixel_standard_deviation=(0.25,),
    seed=seed,
  )


class ExportTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.path = pathlib.Path(self.create_tempdir().full_path) / 'export'
    # Statistics unlike the initial ones, which would hide that they are lost.
    trained = _create_model(seed=1)
    for weight in trained.non_trainable_weights:
      weight.assign(weight + 0.5)
    self.trained = trained
    self.weights = functional.from_keras(trained).initial_weights

  def test_gives_probabilities_and_names_for_any_batch(self):
    export.export_saved_model(
      _create_model(seed=0), self.weights, _NAMES, self.path
    )
    serve = tf.saved_model.load(str(self.path)).signatures['serving_default']
    generator = np.random.default_rng(0)
    for batch in (1, 5):
      images = generator.integers(256, size=(batch, 8, 8, 1), dtype=np.uint8)
      outputs = serve(images=tf.constant(images))
      logits = self.trained(images.astype(np.float32), training=False).numpy()
      powers = np.exp(logits - logits.max(axis=1, keepdims=True))
      np.testing.assert_allclose(
        outputs['probabilities'],
        powers / powers.sum(axis=1, keepdims=True),
        atol=1e-5,
      )
      self.assertEqual(
        [name.decode() for name in outputs['class_name'].numpy()],
        [_NAMES[index] for index in logits.argmax(axis=1)],
      )

  def test_replaces_an_earlier_export(self):
    self.path.mkdir()
    (self.path / 'old').write_text('old')
    export.export_saved_model(
      _create_model(seed=0), self.weights, _NAMES, self.path
    )
    self.assertFalse((self.path / 'old').exists())
    self.assertEqual([p.name for p in self.path.parent.iterdir()], ['export'])

  def test_wrong_weights_are_refused(self):
    fewer = functional.ModelWeights(
      self.weights.trainable[:-1], self.weights.non_trainable
    )
    with self.assertRaises(ValueError):
      export.export_saved_model(_create_model(seed=0), fewer, _NAMES, self.path)
    self.assertFalse(self.path.exists())


if __name__ == '__main__':
  absltest.main()
