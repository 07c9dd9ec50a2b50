# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of which updates count and which are rejected."""

import collections
import functools
import math
from typing import NamedTuple

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import tensorflow as tf

from tests import linear_reference
from tests.core import plain_work
from tff_semifl.core import client_work
from tff_semifl.core import federated_process
from tff_semifl.core import optimizers
from tff_semifl.core import pseudo_labels
from tff_semifl.core import training_loop
from tff_semifl.models import functional

_RATIO = 2.0
# The number of elements of all weights, 4 x 3 and 3.
_NUM_WEIGHTS = 15


class _Update(NamedTuple):
  """The update that a client reports."""

  length: float = 1.0
  loss: float = 6.0
  weight: float = 1.0
  memory: float = 5.0


def _weights(length):
  """Weights with a given norm, and equal elements."""
  value = np.float32(length / math.sqrt(_NUM_WEIGHTS))
  return functional.ModelWeights(
    (np.full([4, 3], value), np.full([3], value)), ()
  )


def _build(updates, *, ratio=_RATIO, **options):
  """Builds client work in which client k takes the update `updates[k]`."""

  def train(weights, context, data, optimizer_state, memory=()):
    del context
    lengths, losses, weight, added = (
      tf.gather(list(values), data['client_id'])
      for values in zip(*updates, strict=True)
    )
    element = lengths / math.sqrt(_NUM_WEIGHTS)
    return client_work.LocalTraining(
      training=training_loop.TrainingResult(
        trainable=tuple(array - element for array in weights.trainable),
        optimizer_state=collections.OrderedDict(
          optimizer_state,
          accumulator=[a + 5 for a in optimizer_state['accumulator']],
        ),
        sums=training_loop.TrainingSums(
          loss=losses, num_correct=1.0, num_examples=3.0, num_visited=3.0
        ),
      ),
      given_labels=pseudo_labels.give_at_once(
        tf.range(2), tf.constant([1, 2]), tf.constant([True, False])
      ),
      num_labeled=tf.constant(8.0),
      num_confident=tf.constant(2.0),
      weight=weight,
      measurements=collections.OrderedDict(
        # A fraction, two of every four images, and a number for a sum.
        doubt=client_work.Ratio(tf.constant(2.0), tf.constant(4.0)),
        num_views=tf.constant(7.0),
      ),
      memory=tf.nest.map_structure(lambda array: array + added, memory),
    )

  return plain_work.Clients(
    client_work.build_client_work(
      linear_reference.create_classifier(),
      train,
      optimizer=optimizers.build_nesterov_sgd(),
      max_update_norm_ratio=ratio,
      return_given_labels=True,
      **options,
    )
  )


def _run(clients, num_clients, weights_length, memories=None, first=0):
  context = federated_process.RoundContext(0, 1, 0.1)
  datasets = [
    linear_reference.client_dataset(k, linear_reference.create_images(1))
    for k in range(first, first + num_clients)
  ]
  return clients(_weights(weights_length), context, datasets, memories)


# Name, norm of the weights, the client's update, whether the update counts.
_CASES = (
  # Twice the norm of the weights, 4.
  ('just_short_enough', 4.0, _Update(length=7.99), True),
  ('just_too_long', 4.0, _Update(length=8.01), False),
  # Twice 1, because the norm of the weights is below 1.
  ('short_weights', 0.25, _Update(length=1.99), True),
  ('too_long_for_short_weights', 0.25, _Update(length=2.01), False),
  ('no_weights_at_all', 0.0, _Update(length=1.99), True),
  ('nothing', 4.0, _Update(length=0.0), True),
  ('not_a_number', 4.0, _Update(length=math.nan), False),
  ('infinite', 4.0, _Update(length=math.inf), False),
  # The square of this norm overflows float32.
  ('exploded', 4.0, _Update(length=1e30), False),
  ('loss_not_a_number', 4.0, _Update(loss=math.nan), False),
  ('loss_infinite', 4.0, _Update(loss=-math.inf), False),
  ('loss_exploded', 4.0, _Update(loss=1e20), False),
  ('weight_not_a_number', 4.0, _Update(weight=math.nan), False),
  ('weight_infinite', 4.0, _Update(weight=math.inf), False),
  ('weight_negative', 4.0, _Update(weight=-1.0), False),
  # The square of such a norm overflows, too.
  ('infinite_for_endless_weights', 1e25, _Update(length=math.inf), False),
  ('finite_for_endless_weights', 1e25, _Update(length=0.0), True),
)


@functools.cache
def _build_cases():
  return _build([update for _, _, update, _ in _CASES])


class ClientWorkTest(parameterized.TestCase):
  @parameterized.named_parameters(
    (case[0], number, *case[1:]) for number, case in enumerate(_CASES)
  )
  def test_update_counts_or_is_rejected(self, number, length, update, counts):
    # One client per case, with work that is traced once.
    output = _run(_build_cases(), 1, length, first=number)
    [result] = output.result
    self.assertEqual(result.update_weight, float(counts))
    measured = output.measurements
    self.assertEqual(measured['num_participating'], float(counts))
    self.assertEqual(measured['num_rejected'], float(not counts))
    expected = update.length / math.sqrt(_NUM_WEIGHTS) if counts else 0.0
    for update in result.update:
      np.testing.assert_allclose(
        update, np.full_like(update, expected), rtol=1e-5, atol=1e-6
      )

  def test_endless_ratio_rejects_what_is_not_finite(self):
    updates = [_Update(length=each) for each in (1e9, math.inf, math.nan)]
    results = _run(_build(updates, ratio=math.inf), 3, 4.0).result
    self.assertEqual([each.update_weight for each in results], [1, 0, 0])

  def test_what_a_rejected_client_saw_is_in_no_sum(self):
    updates = [
      _Update(loss=6.0, weight=0.25),
      _Update(length=math.nan),
      _Update(length=100.0, loss=1000.0),
      _Update(loss=math.inf),
      # This client has no update, but is not rejected.
      _Update(length=0.0, loss=0.0, weight=0.0),
    ]
    output = _run(_build(updates), 5, 4.0)
    self.assertEqual(
      [result.update_weight for result in output.result], [0.25, 0, 0, 0, 0]
    )
    self.assertEqual(
      [result.given_labels.label.tolist() for result in output.result],
      [[1, 2], [], [], [], [1, 2]],
    )
    # Two clients: 3 examples, of which 1 is right, and 8 examples, of which 2
    # are confident.
    self.assertEqual(
      {name: round(value, 6) for name, value in output.measurements.items()},
      {
        'loss': 1.0,
        'accuracy': 0.333333,
        'label_ratio': 0.25,
        'doubt': 0.5,
        'num_views': 14.0,
        # Whatever the weight of its update, one client takes part.
        'num_participating': 1.0,
        'num_rejected': 3.0,
        'weight_diversity': 1.0,
        'relative_weight_diversity': 1.0,
      },
    )

  def test_diversity_is_of_the_updates_that_count_d51(self):
    # All elements of a kernel are equal; one update has twice the elements of
    # the other: squares 1 and 4 over the square of 3. The third update is too
    # long, and the last update is not reported.
    updates = [
      _Update(length=1.0),
      _Update(length=2.0),
      _Update(length=100.0),
      _Update(length=3.0, weight=0.0),
    ]
    measured = _run(_build(updates), 4, 4.0).measurements
    self.assertAlmostEqual(measured['weight_diversity'], 5 / 9, places=6)
    self.assertAlmostEqual(
      measured['relative_weight_diversity'], 2 * 5 / 9, places=6
    )
    clients = _build(updates, measure_weight_diversity=False)
    measured = _run(clients, 4, 4.0).measurements
    self.assertTrue(np.isnan(measured['weight_diversity']))
    self.assertTrue(np.isnan(measured['relative_weight_diversity']))
    self.assertEqual(measured['num_participating'], 2)

  def test_kernel_is_that_of_the_last_dense_layer(self):
    def find(*layers):
      return client_work.find_classifier_kernel(
        functional.from_keras(
          tf.keras.Sequential(
            [tf.keras.Input(linear_reference.IMAGE_SHAPE), *layers]
          )
        )
      )

    flatten, dense = tf.keras.layers.Flatten, tf.keras.layers.Dense
    # The previous layer has as many units as there are classes, too.
    self.assertEqual(find(flatten(), dense(3), dense(3)), 2)
    self.assertIsNone(find(tf.keras.layers.Conv2D(3, 2), flatten()))

  def test_rejected_client_keeps_the_state_that_it_came_with(self):
    updates = [
      _Update(),
      _Update(length=math.nan),
      _Update(length=9),
      _Update(loss=-math.inf),
    ]
    clients = _build(updates, kept=client_work.Kept(optimizer_state=True))
    state = {
      'learning_rate': np.float32(0),
      'accumulator': [np.ones([4, 3], np.float32), np.ones([3], np.float32)],
    }
    output = _run(clients, 4, 4.0, [state] * 4)
    for result, expected in zip(output.result, [6, 1, 1, 1], strict=True):
      for array in result.memory['accumulator']:
        np.testing.assert_array_equal(array, np.full_like(array, expected))

  def test_rejected_client_keeps_the_memory_of_its_method(self):
    updates = [_Update(), _Update(length=math.nan), _Update(memory=math.nan)]
    kept = client_work.Kept(initialize=lambda model: {'own': tf.ones([2])})
    output = _run(
      _build(updates, kept=kept), 3, 4.0, [{'own': np.ones(2, np.float32)}] * 3
    )
    self.assertEqual(
      [result.memory['own'].tolist() for result in output.result],
      [[6, 6], [1, 1], [1, 1]],
    )
    self.assertEqual(output.measurements['num_rejected'], 2)


if __name__ == '__main__':
  absltest.main()
