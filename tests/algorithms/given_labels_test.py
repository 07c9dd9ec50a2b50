# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests that every system returns the labels that its clients gave (A.14)."""

import collections
import functools

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

from tests import decomposed_reference
from tests import given_labels_reference
from tests import linear_reference
from tests import local_steps_reference
from tests import simulation_test_case
from tests import small_systems
from tests.algorithms import zhang2020_reference
from tests.core import linear_problem

_THRESHOLD = 0.36
_COHORT = [2, 0]
_EARLIER_ROUNDS = 1


def _builder(
  system_name,
  build=linear_problem.build,
  *,
  create_classifier=linear_reference.create_classifier,
  **changes,
):
  """Returns a function that builds a system, each of its processes once."""

  @functools.cache
  def build_once(*, returns_labels):
    return build(
      system_name,
      {'confidence_threshold': _THRESHOLD, **changes},
      classifier=create_classifier(),
      weak_augmentation=linear_reference.shifted,
      strong_augmentation=linear_reference.inverted,
      returns_given_labels=returns_labels,
    )

  return build_once


# By name: how to build it, and how often clients of 6 and 4 images label them.
_SYSTEMS = {
  'semifl': (_builder('semifl'), [6, 4]),
  # Batches of three; in this update the second of an epoch.
  'fedsgd_fixmatch': (_builder('fedsgd_fixmatch'), [3, 1]),
  'client_prior_sgd': (_builder('client_prior_sgd'), [3, 1]),
  # Three steps of two images.
  'consistency_averaging': (
    _builder('consistency_averaging', zhang2020_reference.build),
    [6, 6],
  ),
  'self_training_averaging': (
    _builder('self_training_averaging', zhang2020_reference.build),
    [6, 6],
  ),
  'fedmatch': (
    _builder(
      'fedmatch',
      small_systems.build,
      create_classifier=decomposed_reference.create_classifier,
      confidence_threshold=0.45,
      client_batch_size=3,
    ),
    [6, 4],
  ),
}


def _next(process, problem, round_num):
  """Runs a round with initial weights."""
  arguments = []
  if process.initialize_memory is not None:
    memories = [process.initialize_memory() for _ in _COHORT]
    if hasattr(memories[0], 'slot'):
      memories = [
        memory._replace(slot=np.int32(slot))
        for slot, memory in enumerate(memories)
      ]
    arguments.append(memories)
  client_data = problem.client_data(_COHORT)
  if 'earlier_rounds' in _names_of_client_data(process):
    client_data = [
      data.map(
        lambda chunk: collections.OrderedDict(
          client_id=chunk['client_id'],
          earlier_rounds=np.int32(_EARLIER_ROUNDS),
          image=chunk['image'],
        )
      )
      for data in client_data
    ]
  return process.next(
    process.initialize()._replace(round_num=np.int32(round_num)),
    problem.server_data,
    client_data,
    *arguments,
  )


def _names_of_client_data(process):
  client_data = process.next.type_signature.parameter.client_data
  return list(tff.structure.name_list(client_data.member.element))


class ExecutionTest(simulation_test_case.SimulationTestCase):
  def setUp(self):
    super().setUp()
    self.problem = linear_problem.LinearProblem()

  @parameterized.named_parameters(
    (name, *system)
    for name, system in _SYSTEMS.items()
    # Its client number is that of a slot, which other clients take later.
    if name != 'self_training_averaging'
  )
  def test_round_is_the_same_and_says_what_was_labeled(self, build, num_labels):
    plain = _next(build(returns_labels=False), self.problem, 1)
    found = _next(build(returns_labels=True), self.problem, 1)
    for part in ('state', 'metrics', 'memories'):
      for a, b in zip(
        tf.nest.flatten(getattr(plain, part)),
        tf.nest.flatten(getattr(found, part)),
        strict=True,
      ):
        np.testing.assert_array_equal(a, b)
    self.assertEqual([len(g.label) for g in found.given_labels], num_labels)
    # The server's label ratio is that of these pseudo-labels.
    share = np.concatenate([given.share for given in found.given_labels])
    np.testing.assert_allclose(
      np.mean(share > 0), found.metrics['client']['label_ratio'], rtol=1e-6
    )
    self.assertGreater(share.max(), 0)

  def test_steps_of_the_benchmark(self):
    """A label is by the model of its step, in NumPy."""
    build, _ = _SYSTEMS['consistency_averaging']
    process = build(returns_labels=True)
    weights = process.initialize().global_model_weights.trainable
    for given, (client_id, images) in zip(
      _next(process, self.problem, 1).given_labels,
      [self.problem.clients[client_id] for client_id in _COHORT],
      strict=True,
    ):
      expected = local_steps_reference.train_node(
        weights,
        [np.zeros_like(array) for array in weights],
        images,
        threshold=_THRESHOLD,
        weak=linear_reference.shifted,
        strong=linear_reference.inverted,
        seed=zhang2020_reference.SEED,
        round_num=1,
        node=client_id,
        num_steps=zhang2020_reference.NUM_STEPS,
        batch_size=zhang2020_reference.BATCH_SIZE,
        learning_rates=zhang2020_reference.learning_rates(1),
      )
      given_labels_reference.assert_given(given, expected.labeled)


if __name__ == '__main__':
  absltest.main()
