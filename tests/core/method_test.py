# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests that mistakes in hooks are reported before training."""

import dataclasses
import types
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import tensorflow as tf

from tests import client_updates
from tests import linear_reference
from tests import small_systems
from tests.core import linear_problem
from tests.core import plain_work
from tff_semifl import settings
from tff_semifl.algorithms import averaging
from tff_semifl.algorithms import client_parts
from tff_semifl.algorithms import fix_mix
from tff_semifl.algorithms import from_sums
from tff_semifl.baselines.one_place import pooled
from tff_semifl.baselines.one_place import pooled_method
from tff_semifl.core import federated_process
from tff_semifl.core import hook_arguments
from tff_semifl.core import method
from tff_semifl.core import pseudo_labels
from tff_semifl.experiment import system_registry

_part = dataclasses.dataclass(frozen=True, kw_only=True)


@_part
class _NoMean(fix_mix.FixMix):
  def loss(self, step, state):
    return tf.nn.sparse_softmax_cross_entropy_with_logits(
      step.labels.labels, step.logits(step.strong)
    )


@_part
class _NoResult(fix_mix.LabelEachBatch):
  def loss(self, step, state):
    step.cross_entropy(step.logits(step.strong))


@_part
class _NoGradient(fix_mix.FixMix):
  def loss(self, step, state):
    predictions = tf.argmax(step.logits(step.strong), axis=-1)
    return step.mean(tf.cast(predictions, tf.float32))


@_part
class _Guided(fix_mix.FixMix):
  def report(self, client, state):
    return tf.reduce_sum(client.labels.confidences)

  def init_guidance(self, model):
    return {'mean': tf.zeros([model.num_classes])}


@_part
class _GuidanceOfDtype(_Guided):
  def guidance(self, kept, sums, server):
    return {'mean': tf.cast(kept['mean'], tf.int32)}


@_part
class _GuidanceOfShape(_Guided):
  def guidance(self, kept, sums, server):
    return {'mean': kept['mean'][0]}


@_part
class _GuidanceOfNothing(_Guided):
  def guidance(self, kept, sums, server):
    pass


@_part
class _StateOfDtype(fix_mix.FixMix):
  def init_state(self, client):
    return tf.constant(0)

  def after_step(self, state, weights):
    return tf.cast(state, tf.float32) + 1.0


@_part
class _Logits(fix_mix.FixMix):
  def label(self, client, state):
    logits = client.logits()
    return logits, tf.ones_like(logits[:, 0], tf.bool)


@_part
class _LogitsOfBatch(fix_mix.LabelEachBatch):
  def label(self, client, state):
    logits = client.logits() / 2.0
    return logits, tf.ones_like(logits[:, 0], tf.bool)


@_part
class _LabelsAlone(fix_mix.FixMix):
  def label(self, client, state):
    return pseudo_labels.from_logits(client.logits()).labels


@_part
class _OneHot(fix_mix.FixMix):
  def label(self, client, state):
    labels = pseudo_labels.from_logits(client.logits()).labels
    return tf.one_hot(labels, 3, dtype=tf.int32), tf.ones_like(labels, tf.bool)


@_part
class _ReportAlone(fix_mix.FixMix):
  def report(self, client, state):
    return tf.reduce_sum(client.labels.confidences)


@_part
class _GuidanceAlone(fix_mix.FixMix):
  def guidance(self, kept, sums, server):
    return kept


@_part
class _Remembering(fix_mix.FixMix):
  def init_memory(self, model):
    return (tf.zeros([model.num_classes]),)


@_part
class _MemoryOfNothing(fix_mix.FixMix):
  def init_memory(self, model):
    return ()


@_part
class _MemoryOfShape(_Remembering):
  def after_round(self, client, state, weights):
    return (client.memory[0][0],)


@_part
class _AfterRoundAlone(fix_mix.FixMix):
  def after_round(self, client, state, weights):
    return state


@_part
class _UpdateOfTrainable(_Guided):
  def update(self, kept, sums, server):
    return server.weights.trainable


@_part
class _ReportOfImages(_Guided):
  def report(self, client, state):
    return client.labels.confidences


@_part
class _ReportOfNothing(_Guided):
  def report(self, client, state):
    pass


@_part
class _GuidanceInitNothing(fix_mix.FixMix):
  def init_guidance(self, model):
    pass


@_part
class _TellsNothing(_Guided):
  def tell(self, kept, server):
    pass


@_part
class _StateOfNothing(fix_mix.FixMix):
  def init_state(self, client):
    pass


@_part
class _SelectsNothing(fix_mix.FixMix):
  def label(self, client, state):
    return super().label(client, state)[0], None


@_part
class _WithoutLoss(method.Method):
  pass


@_part
class _PartThatReports(client_parts.Weighting):
  def weigh(self, client):
    return tf.ones([])

  def report(self, client):
    return tf.reduce_sum(client.labels.confidences)


@_part
class _FeaturesAlone(fix_mix.FixMix):
  """A loss that does not depend on the bias of the last layer."""

  def loss(self, step, state):
    return tf.reduce_sum(step.weights.trainable[0] ** 2)


def _build(client):
  system = settings.change_present(
    averaging.Alternating(client=client), linear_problem.SETTINGS
  )
  return system.build(small_systems.create_ingredients())


def _build_from_sums(client):
  from_sums.FromSums(client=client).build(small_systems.create_ingredients())


def _train(client):
  """Trains a client whose method may have a mistake; returns the update."""
  clients = plain_work.build_linear_clients(
    client, {'confidence_threshold': 0.01}
  )
  weights = linear_reference.create_classifier().initial_weights
  data = linear_reference.client_dataset(0, linear_reference.create_images(4))
  context = federated_process.RoundContext(7, 1, 0.1)
  return clients(weights, context, [data]).result[0].update


def _update_guidance(client):
  server = client_updates.create_server()
  kept = {method.OWN: client.init_guidance(server.model)}
  return method.update(client.guides, kept, {}, server)


@_part
class _PooledNoMean(pooled_method.PooledMethod):
  def loss(self, step, memory):
    (logits,) = step.logits(step.labeled_images())
    losses = tf.nn.sparse_softmax_cross_entropy_with_logits(step.labels, logits)
    return pooled_method.PooledStepOutput(losses, logits)


class HookResultsTest(parameterized.TestCase):
  @parameterized.parameters(
    (_train, _NoMean, 'loss', 'float32 scalar'),
    (_train, _NoResult, 'loss', 'float32 scalar'),
    (_train, _NoGradient, 'loss', 'gradient'),
    (_train, _StateOfDtype, 'after_step', 'int32'),
    (_update_guidance, _GuidanceOfDtype, 'guidance', r'<mean=float32\[3\]>'),
    (_update_guidance, _GuidanceOfShape, 'guidance', r'<mean=float32\[3\]>'),
    (_update_guidance, _GuidanceOfNothing, 'guidance', r'<mean=float32\[3\]>'),
    (_build, _Logits, 'label', 'probabilities'),
    (_build, _LogitsOfBatch, 'label', 'probabilities'),
    (_build, _LabelsAlone, 'label', 'pair'),
    (_build, _OneHot, 'label', 'probabilities'),
    (_build, _MemoryOfNothing, 'init_memory', 'numbers'),
    (_build, _MemoryOfShape, 'after_round', r'<float32\[3\]>'),
    (_build, _AfterRoundAlone, 'after_round', 'init_memory'),
    (_build, _UpdateOfTrainable, 'update', 'non_trainable'),
    (_build, _ReportOfImages, 'report', 'same for all clients'),
    (_build, _ReportOfNothing, 'report', 'numbers'),
    (_build, _GuidanceInitNothing, 'init_guidance', 'numbers'),
    (_build, _TellsNothing, 'tell', 'numbers'),
    (_build, _StateOfNothing, 'init_state', 'numbers'),
    (_build, _SelectsNothing, 'label', 'bool or float32'),
    (_build, _WithoutLoss, 'loss', 'missing'),
    (_build_from_sums, _WithoutLoss, 'update', 'missing'),
    (_build_from_sums, _UpdateOfTrainable, 'loss', 'no effect'),
    (_build, _ReportAlone, 'report', 'init_guidance'),
    (_build, _GuidanceAlone, 'guidance', 'init_guidance'),
  )
  def test_method_hook_and_what_is_wanted(self, use, kind, hook, wanted):
    with self.assertRaisesRegex(
      TypeError, f'^{kind.__name__}: {hook} .*{wanted}'
    ):
      use(kind())

  def test_part_that_reports_to_nobody(self):
    with self.assertRaisesRegex(
      TypeError, '^_PartThatReports: report .*init_guidance'
    ):
      _build(fix_mix.FixMix(weighting=_PartThatReports()))

  def test_pooled_loss(self):
    system = settings.change_present(
      pooled.Pooled(method=_PooledNoMean()), linear_problem.SETTINGS
    )
    with self.assertRaisesRegex(
      TypeError, '^_PooledNoMean: loss .*float32 scalar'
    ):
      system.build(small_systems.create_ingredients())

  def test_weight_without_a_gradient_stays(self):
    kernel, bias = _train(_FeaturesAlone())
    before = linear_reference.create_classifier().initial_weights.trainable
    # Only weight decay changes the weights.
    self.assertLess(np.linalg.norm(bias), 1e-2 * np.linalg.norm(before[1]))
    self.assertLess(
      np.linalg.norm(before[0] - kernel), 0.9 * np.linalg.norm(before[0])
    )


class WeightTest(absltest.TestCase):
  def test_client_that_trains_on_nothing_has_no_weight(self):
    for num_trained_on, expected in ((0, 0.0), (1, 1.0), (7, 1.0)):
      client = types.SimpleNamespace(num_trained_on=tf.constant(num_trained_on))
      self.assertEqual(method.Method.weigh(None, client), expected)


class PassesTest(absltest.TestCase):
  def test_are_computed_once_and_for_other_weights_anew(self):
    fields = dataclasses.fields(hook_arguments.Step)
    step = hook_arguments.Step(
      **{field.name: mock.MagicMock() for field in fields}
      | {'weights': 'own', 'keys': (), 'passes': {}}
    )
    step.model.train_logits.side_effect = lambda weights, *_: [weights]
    images = tf.zeros([2])
    first = step.logits(images)
    self.assertEqual(first, ['own'])
    self.assertIs(step.logits(images), first)
    self.assertIsNot(step.logits(images, dropout_key=1), first)
    self.assertEqual(step.logits(images, 'other'), ['other'])


class InstanceTest(parameterized.TestCase):
  @parameterized.parameters(
    (lambda: averaging.Alternating(client=fix_mix.FixMix), 'client=FixMix'),
    (
      lambda: fix_mix.FixMix(weighting=_PartThatReports),
      'weighting=_PartThatReports',
    ),
    (lambda: pooled.Pooled(method=_PooledNoMean), 'method=_PooledNoMean'),
    (
      lambda: system_registry.load(averaging.Alternating),
      'such as Alternating',
    ),
  )
  def test_class_is_refused(self, create, wanted):
    with self.assertRaisesRegex(ValueError, rf'must be an .*{wanted}\(\)'):
      create()


if __name__ == '__main__':
  absltest.main()
