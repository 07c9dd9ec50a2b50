# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests that a client's turn computes the same in all its forms."""

import collections
import functools

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

from tests import linear_reference
from tests import simulation_test_case
from tests import small_systems
from tff_semifl import optimizers
from tff_semifl.augment import keras_cv_policy
from tff_semifl.augment import weak
from tff_semifl.data import pipelines
from tff_semifl.models import functional
from tff_semifl.models import keyed_dropout
from tff_semifl.models import static_batch_norm
from tff_semifl.systems import averaging
from tff_semifl.systems import registry
from tff_semifl.work import client_work
from tff_semifl.work import round_context
from tff_semifl.work import turn_form

_IMAGE_SHAPE = (8, 8, 3)
_NUM_CLASSES = 3
_BATCH_SIZE = 4
_NUM_IMAGES = 22
_THRESHOLD = 0.5
_TOLERANCE = 1e-3

# One for each client that trains on what it selects, or on labels. FedMatch's
# is another's, with a model of its own.
_SYSTEMS = tuple(
  {
    system.client: name
    for name, system in registry.SYSTEMS.items()
    if isinstance(system, averaging.Averaging) and not system.models
  }.values()
)
# To compile a turn takes longest. These train in all ways that there are; how
# other systems label is compiled in `compiled_labels_test`.
_COMPILED_SYSTEMS = (
  'semifl',
  'batch_label_semifl',
  'supervised_fedavg',
  'composed_semifl',
)
# All parts that no other system has.
_PARTS = {
  'selection': 'softmatch',
  'regularizer': 'sharpness_aware',
  'consistency_threshold': _THRESHOLD,
  'alignment': 'distribution',
  'adjustment': 'client_classes',
  'labeler': 'averaged_teacher',
  'weighting': 'learning_status',
  'soft_pseudo_labels': True,
  'mix_once_per_round': True,
  'mix_before_augmentation': True,
}


@functools.cache
def _create_classifier():
  tf.keras.utils.set_random_seed(3)
  pixels = tf.keras.Input(_IMAGE_SHAPE)
  features = tf.keras.layers.Rescaling(1 / 255)(pixels)
  features = tf.keras.layers.Conv2D(4, 3, strides=2)(features)
  features = static_batch_norm.StaticBatchNormalization()(features)
  features = tf.keras.layers.Flatten()(tf.nn.relu(features))
  features = keyed_dropout.KeyedDropout(0.4, key=0)(features)
  # Logits large enough that the model is sure of some images.
  logits = tf.keras.layers.Dense(
    _NUM_CLASSES, kernel_initializer=tf.keras.initializers.RandomNormal(0, 1)
  )(features)
  return functional.from_keras(tf.keras.Model(pixels, logits))


def _create_images(number):
  generator = np.random.default_rng(5)
  return generator.integers(256, size=(number, *_IMAGE_SHAPE), dtype=np.uint8)


@functools.cache
def _create_system(system_name):
  parts = _PARTS if system_name == 'composed_semifl' else {}
  return small_systems.create(
    system_name,
    {'client_batch_size': _BATCH_SIZE, 'client_epochs': 2, **parts},
    usual={'confidence_threshold': _THRESHOLD},
  )


@functools.cache
def _build(system_name, form, strong_augmentation=None):
  """Builds the work of clients of a system, in a form."""
  classifier = _create_classifier()
  ingredients = small_systems.create_ingredients(
    classifier=classifier,
    weak_augmentation=functools.partial(
      weak.flip_and_crop, flip=True, padding=2
    ),
    strong_augmentation=strong_augmentation
    or functools.partial(weak.flip_and_crop, flip=False, padding=1),
    turn_form=form,
  )
  system = _create_system(system_name)
  optimizer, _ = system.create_optimizers(classifier)
  client = system.client
  guidance = client.build_guidance(classifier)
  context_type = round_context.ROUND_CONTEXT_TYPE
  if guidance is not None:
    tell = guidance.build_tell(
      classifier.weights_type, pipelines.labeled_type(classifier.image_shape)
    )
    context_type = tell.type_signature.result
  return client_work.build_client_work(
    classifier,
    client.build(ingredients, optimizer, system.client_turn),
    data_type=client.client_data_type(classifier),
    optimizer=optimizer,
    keep_optimizer_state=True,
    max_update_norm_ratio=10.0,
    return_given_labels=client.measures_pseudo_labels,
    context_type=context_type,
    form=form,
  )


@functools.cache
def _take_turn(system_name, form, num_images):
  """Returns what a client of a system makes of its images."""
  process = _build(system_name, form)
  client = _create_system(system_name).client
  classifier = _create_classifier()
  weights = classifier.initial_weights
  context = round_context.RoundContext(7, 3, np.float32(0.2))
  images = _create_images(num_images)
  labels = np.arange(num_images, dtype=np.int32) % _NUM_CLASSES
  guidance = client.build_guidance(classifier)
  if guidance is not None:
    server_data = linear_reference.labeled_dataset(images, labels)
    told = guidance.tell(guidance.initialize(), context, weights, server_data)
    context = context._replace(
      guidance=tf.nest.map_structure(lambda tensor: tensor.numpy(), told)
    )
  data = {'client_id': np.int32(5), 'image': images}
  if client.client_data_type(classifier) is not None:
    data['label'] = labels
  output = process.next(
    process.initialize(),
    [(weights, context)],
    [tf.data.Dataset.from_tensors(collections.OrderedDict(data))],
    [process.initialize_memory()],
  )
  # The learning rate in the memory is replaced in the client's next turn.
  output.result[0].memory.pop(optimizers.LEARNING_RATE_KEY)
  return output


def tearDownModule():
  # TensorFlow complains of functions that outlive it.
  for function in (_build, _take_turn, _create_classifier):
    function.cache_clear()


class TurnFormTest(simulation_test_case.SimulationTestCase):
  def _compare(self, system_name, form, num_images=_NUM_IMAGES):
    found = _take_turn(system_name, form, num_images)
    expected = _take_turn(system_name, turn_form.DYNAMIC, num_images)
    tf.nest.assert_same_structure(found, expected)
    for a, b in zip(
      tf.nest.flatten(found), tf.nest.flatten(expected), strict=True
    ):
      # A step's gradient is off by some 1e-5 of its size where sums are in
      # another order, and each step starts with the errors of those before. A
      # bias before normalization has no gradient but such errors.
      scale = np.max(np.abs(b), initial=0.0)
      np.testing.assert_allclose(a, b, rtol=0, atol=_TOLERANCE * scale + 1e-5)

  @parameterized.parameters(*_COMPILED_SYSTEMS)
  def test_compiled(self, system_name):
    self._compare(system_name, turn_form.COMPILED)

  @parameterized.parameters(
    'semifl', *(name for name in _SYSTEMS if name not in _COMPILED_SYSTEMS)
  )
  def test_without_xla(self, system_name):
    self._compare(system_name, turn_form.STATIC)

  def test_last_batch_has_padding_and_images_are_left_out(self):
    """The other tests would see less if it were not so."""
    output = _take_turn('semifl', turn_form.DYNAMIC, _NUM_IMAGES)
    num_selected = np.count_nonzero(output.result[0].given_labels.share)
    self.assertBetween(num_selected, _BATCH_SIZE + 1, _NUM_IMAGES - 1)
    self.assertNotEqual(num_selected % _BATCH_SIZE, 0)

  @parameterized.parameters('semifl', 'batch_label_semifl')
  def test_no_image(self, system_name):
    self._compare(system_name, turn_form.COMPILED, num_images=0)


class ProgramTest(absltest.TestCase):
  def test_turn_is_one_program(self):
    outside, programs = _find_operations(_build('semifl', turn_form.COMPILED))
    self.assertLen(programs, 1)
    # All loops are inside: those of epochs, steps and batches.
    self.assertGreaterEqual(programs[0]['StatelessWhile'], 3)
    self.assertGreater(programs[0]['Conv2D'], 0)
    self.assertNotIn('Conv2D', outside)
    self.assertEmpty([op for op in outside if 'While' in op])
    # Beside it images are read, and padding of given labels is dropped.
    self.assertLess(sum(outside.values()), sum(programs[0].values()) / 10)

  def test_dynamic_turn_is_none(self):
    outside, programs = _find_operations(_build('semifl', turn_form.DYNAMIC))
    self.assertEmpty(programs)
    self.assertNotEmpty([op for op in outside if 'While' in op])

  def test_operations_that_cannot_be_compiled_are_refused(self):
    with self.assertRaisesRegex(
      ValueError, 'XLA cannot compile Equalization, .*--strong_augmentation'
    ):
      _build(
        'semifl',
        turn_form.COMPILED,
        strong_augmentation=keras_cv_policy.build_gentle_rand_augment(),
      )


def _find_operations(process):
  """Counts the operations of a turn, by where they are.

  Args:
    process: The work of clients.

  Returns:
    A counter of those that are not compiled, and one for each program.
  """
  graph_defs = []

  def find(block):
    if isinstance(block, tff.framework.CompiledComputation):
      graph_defs.append(
        tf.compat.v1.GraphDef.FromString(block.proto.tensorflow.graph_def.value)
      )
    return block, False

  tff.framework.transform_postorder(process.next.to_building_block(), find)
  outside, programs = collections.Counter(), []

  def count(nodes, functions, counter):
    for node in nodes:
      counter[node.op] += 1
      inner = counter
      if counter is outside and node.attr['_XlaMustCompile'].b:
        inner = collections.Counter()
        programs.append(inner)
      for attribute in node.attr.values():
        if attribute.HasField('func'):
          count(functions[attribute.func.name], functions, inner)

  for graph_def in graph_defs:
    functions = {
      each.signature.name: each.node_def for each in graph_def.library.function
    }
    count(graph_def.node, functions, outside)
  return outside, programs


if __name__ == '__main__':
  absltest.main()
