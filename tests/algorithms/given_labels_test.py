# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests that systems return the labels that their clients gave (A.14)."""

import collections
import functools

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
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


@functools.cache
def _build(system_name, build=linear_problem.build, **changes):
  decomposes = system_name == 'fedmatch'
  return build(
    system_name,
    {'confidence_threshold': _THRESHOLD, **changes},
    classifier=decomposed_reference.create_classifier()
    if decomposes
    else linear_reference.create_classifier(),
    weak_augmentation=linear_reference.shifted,
    strong_augmentation=linear_reference.inverted,
    returns_given_labels=True,
  )


# By name: how to build it, and how often clients of 6 and 4 images label them.
_SYSTEMS = {
  # Batches of three; in this update the second of an epoch.
  'fedsgd_fixmatch': ({}, [3, 1]),
  # Three steps of two images.
  'consistency_averaging': ({'build': zhang2020_reference.build}, [6, 6]),
  'fedmatch': (
    {
      'build': small_systems.build,
      'confidence_threshold': 0.45,
      'client_batch_size': 3,
    },
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
    (name, name, *system) for name, system in _SYSTEMS.items()
  )
  def test_label_ratio_is_that_of_the_returned_labels(
    self, name, arguments, num_labels
  ):
    found = _next(_build(name, **arguments), self.problem, 1)
    self.assertEqual([len(g.label) for g in found.given_labels], num_labels)
    share = np.concatenate([given.share for given in found.given_labels])
    np.testing.assert_allclose(
      np.mean(share > 0), found.metrics['client']['label_ratio'], rtol=1e-6
    )
    self.assertGreater(share.max(), 0)

  def test_steps_of_the_benchmark(self):
    """A label is by the model of its step, in NumPy."""
    process = _build('consistency_averaging', zhang2020_reference.build)
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
