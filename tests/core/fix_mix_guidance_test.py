# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of hooks of SemiFL's client: selection, labels and offsets."""

import dataclasses
from typing import Any, ClassVar

from absl.testing import absltest
import numpy as np
import tensorflow as tf

from tests import linear_reference
from tff_semifl.algorithms import fix_mix
from tff_semifl.core import client_update
from tff_semifl.core import federated_process
from tff_semifl.core import optimizers
from tff_semifl.core import pseudo_labels
from tff_semifl.core import training_loop

_RATE = 0.25


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Method(fix_mix.Fix):
  """A method with given guidance hooks and another argument."""

  hooks: ClassVar[dict[str, Any]] = {}

  def select(self, update, labels):
    if 'select' not in self.hooks:
      return labels.confidences > 0.01
    return self.hooks['select'](update.guidance, labels)

  def pseudo_label(self, update, logits):
    if 'label' not in self.hooks:
      return super().pseudo_label(update, logits)
    return self.hooks['label'](update.guidance, logits)

  def logit_offset(self, update, labels):
    if 'offset' not in self.hooks:
      return None
    return self.hooks['offset'](update.guidance, labels)


class GuidanceTest(tf.test.TestCase):
  def _train(self, guidance=(), *, learning_rate=_RATE, **hooks):
    """Trains; returns the step of each weight, and the number selected."""
    classifier = linear_reference.create_classifier()
    weights = tf.nest.map_structure(tf.constant, classifier.initial_weights)
    optimizer = optimizers.build_nesterov_sgd(
      learning_rate, weight_decay=0.0, clip_norm=1e9
    )
    _Method.hooks = hooks
    local = client_update.build_local_training(
      _Method(),
      client_update.Training(
        model=classifier,
        weak_augmentation=linear_reference.unchanged,
        strong_augmentation=linear_reference.unchanged,
        optimizer=optimizer,
        num_epochs=1,
        batch_size=7,
      ),
    )(
      weights,
      federated_process.RoundContext(7, 1, learning_rate, {'method': guidance}),
      {
        'client_id': tf.constant(0),
        'image': tf.constant(linear_reference.create_images(7)),
      },
      training_loop.initial_optimizer_state(optimizer, weights.trainable),
    )
    steps = tf.nest.map_structure(
      tf.subtract, local.training.trainable, weights.trainable
    )
    return steps, int(local.num_confident)

  def test_selection_and_labels_by_what_the_server_tells(self):
    found, num_found = self._train(
      tf.constant([0.0, 100.0, 0.0]),
      # This bias makes class 1 certain for all images.
      label=lambda guidance, logits: pseudo_labels.from_logits(
        logits + guidance
      ),
      select=lambda guidance, labels: (
        labels.confidences >= tf.gather(guidance, labels.labels) / 101
      ),
    )
    self.assertEqual(num_found, 7)
    self.assertAllEqual(tf.sign(found[1]), [-1.0, 1.0, -1.0])

  def test_weights_of_two_are_a_step_of_twice_the_length(self):
    found, num_found = self._train(
      select=lambda _, labels: 2.0 * tf.ones_like(labels.confidences)
    )
    expected, _ = self._train(learning_rate=2 * _RATE)
    self.assertEqual(num_found, 7)
    self.assertAllClose(found, expected, rtol=1e-5, atol=1e-7)

  def test_images_that_weigh_nothing_are_left_out(self):
    weights = np.array([0, 0.25, 3, 0, 0, 1, 0], np.float32)
    _, num_found = self._train(select=lambda *_: tf.constant(weights))
    self.assertEqual(num_found, 3)

  def test_offset_of_logits(self):
    plain, _ = self._train()
    # Adding a number to all logits does not change a softmax.
    same, _ = self._train(
      tf.constant(0.5), offset=lambda guidance, _: guidance * tf.ones(3)
    )
    self.assertAllClose(same, plain, rtol=1e-4, atol=1e-6)
    # If the offset makes the labels certain, the gradient is zero.
    found, _ = self._train(
      offset=lambda _, labels: 100.0 * tf.one_hot(labels.labels[0], 3),
      select=lambda _, labels: tf.equal(labels.labels, labels.labels[0]),
    )
    self.assertAllClose(found[1], tf.zeros(3), atol=1e-6)


if __name__ == '__main__':
  absltest.main()
