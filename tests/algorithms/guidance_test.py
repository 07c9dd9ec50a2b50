# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of what an algorithm keeps at the server and tells clients."""

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import tensorflow as tf

from tests import fix_mix_reference
from tests import linear_reference
from tests.algorithms import linear_problem
from tff_semifl import runtime
from tff_semifl.algorithms import alternating
from tff_semifl.algorithms import parallel
from tff_semifl.algorithms import training_parts
from tff_semifl.work import fix_mix_training
from tff_semifl.work import guidance

_COHORTS = ([], [2, 0], [1, 2])
_FIRST_THRESHOLD = linear_problem.THRESHOLD
_GROWTH = 0.002


def _tell_nothing_of_the_teacher(state, weights):
  del weights  # Clients have them.
  return state['threshold']


def _update(state, context, weights, reports):
  return {
    'threshold': state['threshold'] + _GROWTH * reports,
    # Round 0 is the first that it has seen.
    'teacher': tuple(
      tf.where(context.round_num > 0, (old + new) / 2, new)
      for old, new in zip(state['teacher'], weights.trainable, strict=True)
    ),
  }


def _build(compose=alternating.compose_alternating_process):
  """SemiFL with a threshold that rises, and an average of models."""
  classifier = linear_reference.create_classifier()
  hyperparameters = linear_problem.HYPERPARAMETERS
  train = fix_mix_training.build_fix_mix_training(
    classifier,
    weak_augmentation=linear_reference.unchanged,
    strong_augmentation=linear_reference.unchanged,
    optimizer=hyperparameters.optimizer,
    num_epochs=2,
    batch_size=3,
    selection_fn=lambda threshold, labels: labels.confidences >= threshold,
    mixup_concentration=0.75,
    mix_loss_weight=1.0,
  )

  def train_and_report(*arguments):
    local = train(*arguments)
    return local._replace(report=tf.cast(local.num_confident, tf.float32))

  return compose(
    training_parts.build_training_parts(
      classifier,
      train_and_report,
      hyperparameters,
      weak_augmentation=linear_reference.unchanged,
      guidance=guidance.Guidance(
        initialize=lambda: {
          'threshold': tf.constant(_FIRST_THRESHOLD),
          'teacher': tuple(
            tf.zeros_like(array)
            for array in classifier.initial_weights.trainable
          ),
        },
        tell=_tell_nothing_of_the_teacher,
        update=_update,
      ),
    )
  )


class GuidanceTest(parameterized.TestCase):
  def test_types_say_what_clients_are_told(self):
    process = _build()
    self.assertEqual(
      str(process.initialize.type_signature.result.member.guidance),
      '<threshold=float32,teacher=<float32[4,3],float32[3]>>',
    )

  def test_rounds_equal_numpy(self):
    self.enter_context(runtime.simulation_context())
    problem = linear_problem.LinearProblem()
    process = _build()
    state = process.initialize()
    sgd = linear_reference.NumpySGD(
      linear_reference.create_classifier().initial_weights.trainable, 0.0
    )
    velocity = [np.zeros_like(array) for array in sgd.weights]
    threshold, teacher = _FIRST_THRESHOLD, None
    for round_num, cohort in enumerate(_COHORTS):
      state = process.next(
        state, problem.server_data, problem.client_data(cohort)
      ).state
      turns = [
        fix_mix_reference.train_client(
          sgd.weights,
          problem.clients[client_id][1],
          client_id=client_id,
          round_num=round_num,
          seed=linear_problem.SEED,
          learning_rate=linear_problem.learning_rate(round_num),
          num_epochs=2,
          batch_size=3,
          threshold=threshold,
          mix_loss_weight=1.0,
        )
        for client_id in cohort
      ]
      counting = [turn.weights for turn in turns if turn.num_confident]
      if counting:
        sgd.weights, velocity = linear_problem.apply_mean(
          sgd.weights, velocity, counting
        )
      problem.train_server(sgd, round_num)
      threshold += _GROWTH * sum(turn.num_confident for turn in turns)
      teacher = [
        new if teacher is None else (old + new) / 2
        for old, new in zip(teacher or sgd.weights, sgd.weights, strict=True)
      ]
      self.assertAlmostEqual(
        float(state.guidance['threshold']), threshold, places=5
      )
      for found, expected in zip(
        (*state.global_model_weights.trainable, *state.guidance['teacher']),
        (*sgd.weights, *teacher),
        strict=True,
      ):
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
    # It has risen, and not by all 21 images.
    self.assertBetween(
      threshold, _FIRST_THRESHOLD + _GROWTH, _FIRST_THRESHOLD + 20.5 * _GROWTH
    )

  def test_other_composers_keep_it_too(self):
    self.enter_context(runtime.simulation_context())
    problem = linear_problem.LinearProblem()
    process = _build(
      lambda parts: parallel.compose_parallel_process(
        parts, server_share_fn=parallel.half, step_from_received_weights=False
      )
    )
    state = process.initialize()
    for cohort in _COHORTS[:2]:
      output = process.next(
        state, problem.server_data, problem.client_data(cohort)
      )
      state = output.state
    num_images = sum(len(problem.clients[k][1]) for k in _COHORTS[1])
    np.testing.assert_allclose(
      state.guidance['threshold'],
      _FIRST_THRESHOLD
      + _GROWTH * num_images * output.metrics['client']['label_ratio'],
      rtol=1e-5,
    )
    self.assertGreater(state.guidance['threshold'], _FIRST_THRESHOLD)


if __name__ == '__main__':
  absltest.main()
