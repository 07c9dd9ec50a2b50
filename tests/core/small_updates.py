# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Client updates of any system, with a small model."""

import collections
import contextlib
import dataclasses
import functools
from typing import Any
from unittest import mock

import numpy as np
import tensorflow as tf

from tests import linear_reference
from tests import small_systems
from tests.core import plain_work
from tff_semifl.algorithms import client_parts
from tff_semifl.algorithms import round_parts
from tff_semifl.augment import augmentation
from tff_semifl.core import client_work
from tff_semifl.core import compiled_steps
from tff_semifl.core import federated_process
from tff_semifl.core import hook_arguments
from tff_semifl.core import method
from tff_semifl.core import optimizers
from tff_semifl.core import rows as rows_lib
from tff_semifl.data import pipelines
from tff_semifl.models import functional
from tff_semifl.models import keyed_dropout
from tff_semifl.models import static_batch_norm

_IMAGE_SHAPE = (8, 8, 3)
_NUM_CLASSES = 3
BATCH_SIZE = 4
NUM_IMAGES = 22
_THRESHOLD = 0.5

# The forms of a loop. PADDED has the operations of COMPILED, without XLA.
DYNAMIC, COMPILED, PADDED = 'dynamic', 'compiled', 'padded'


@dataclasses.dataclass(frozen=True, kw_only=True)
class _SoftWeights(client_parts.Selection):
  def select(self, client, labels):
    return labels.confidences**2


# All parts that no named system has.
_PARTS = {
  'selection': _SoftWeights(),
  'regularizer': 'sharpness_aware',
  'consistency_threshold': _THRESHOLD,
  'alignment': 'distribution',
  'weighting': 'learning_status',
}


def _run_without_xla(loop, examples):
  with compiled_steps.portably():
    return loop(rows_lib.Rows(*compiled_steps.pad(examples)))


def without_xla() -> Any:
  """A context in which loops are not compiled by XLA, which takes minutes."""
  return mock.patch.object(compiled_steps, 'run_compiled', _run_without_xla)


@functools.cache
def create_classifier() -> functional.ImageClassifier:
  """Creates a model with normalization and dropout."""
  tf.keras.utils.set_random_seed(3)
  pixels = tf.keras.Input(_IMAGE_SHAPE)
  features = tf.keras.layers.Rescaling(1 / 255)(pixels)
  features = tf.keras.layers.Conv2D(4, 3, strides=2)(features)
  features = static_batch_norm.StaticBatchNormalization()(features)
  features = tf.keras.layers.Flatten()(tf.nn.relu(features))
  features = keyed_dropout.KeyedDropout(0.4, key=0)(features)
  # With large logits, the model is confident for some images.
  logits = tf.keras.layers.Dense(
    _NUM_CLASSES, kernel_initializer=tf.keras.initializers.RandomNormal(0, 1)
  )(features)
  return functional.from_keras(tf.keras.Model(pixels, logits))


def _create_images(client, number):
  generator = np.random.default_rng(5 + client)
  return generator.integers(256, size=(number, *_IMAGE_SHAPE), dtype=np.uint8)


def _create_labels(number):
  return np.arange(number, dtype=np.int32) % _NUM_CLASSES


@functools.cache
def _create_system(system_name):
  parts = _PARTS if system_name == 'composed_semifl' else {}
  return small_systems.create(
    system_name,
    {'client_batch_size': BATCH_SIZE, 'client_epochs': 2, **parts},
    usual={'confidence_threshold': _THRESHOLD},
  )


def _context(system_name: str) -> federated_process.RoundContext:
  """The context of round 3, with the first guidance."""
  classifier = create_classifier()
  guides = _create_system(system_name).client.guides
  context = federated_process.RoundContext(7, 3, 0.2)
  if not guides:
    return context
  server = hook_arguments.Server(
    model=classifier,
    seed=tf.constant(context.seed),
    round_num=tf.constant(context.round_num),
    weights=classifier.initial_weights,
    data=linear_reference.labeled_dataset(
      _create_images(0, NUM_IMAGES), _create_labels(NUM_IMAGES)
    ),
  )
  kept = {name: each.init_guidance(classifier) for name, each in guides.items()}
  return method.tell(guides, kept, server, context)


def build(
  system_name: str,
  form: str,
  strong_augmentation: augmentation.Augmentation | None = None,
) -> client_work.ClientWork:
  """Builds the work of clients."""
  classifier = create_classifier()
  ingredients = small_systems.create_ingredients(
    classifier=classifier,
    weak_augmentation=functools.partial(
      augmentation.flip_and_crop, flip=True, padding=2
    ),
    strong_augmentation=strong_augmentation
    or functools.partial(augmentation.flip_and_crop, flip=False, padding=1),
    jit_compile=form != DYNAMIC,
  )
  system = _create_system(system_name)
  optimizer, _ = system.create_optimizers(classifier)
  client = system.client
  return client_work.build_client_work(
    classifier,
    round_parts.build_local_training(
      client, ingredients, optimizer, system.local_training
    ),
    data_type=pipelines.labeled_client_type(_IMAGE_SHAPE)
    if system.clients_have_labels
    else None,
    optimizer=optimizer,
    kept=client_work.Kept(optimizer_state=True),
    max_update_norm_ratio=10.0,
    return_given_labels=client.measures_pseudo_labels,
  )


@functools.cache
def take(system_name: str, form: str, *sizes: int) -> tuple[Any, Any]:
  """The client updates of round 3, and their function."""
  work = build(system_name, form)
  clients = plain_work.Clients(work)
  system = _create_system(system_name)
  datasets = []
  for number, size in enumerate(sizes):
    data = collections.OrderedDict(
      client_id=np.int32(5 + number), image=_create_images(number, size)
    )
    if system.clients_have_labels:
      data['label'] = _create_labels(size)
    if system.labels.at_some_clients:
      # Every other image has none.
      data['label'][1::2] = -1
    datasets.append(tf.data.Dataset.from_tensors(data))
  with without_xla() if form == PADDED else contextlib.nullcontext():
    output = clients(
      create_classifier().initial_weights,
      _context(system_name),
      datasets,
      [work.initialize_memory()] * len(sizes),
    )
  # The learning rate in the memory is replaced at the client's next update.
  for result in output.result:
    result.memory.pop(optimizers.LEARNING_RATE_KEY)
  return output, clients.update.traced
