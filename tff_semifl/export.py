# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""A trained model as a SavedModel that needs nothing but TensorFlow."""

from collections.abc import Sequence
import pathlib
import shutil

import numpy as np
import tensorflow as tf

from tff_semifl.models import functional


class ExportError(Exception):
  """What was saved is not what was trained."""


def export_saved_model(
  model: tf.keras.Model,
  weights: functional.ModelWeights,
  class_names: Sequence[str],
  path: pathlib.Path,
) -> None:
  """Saves a model with trained weights, replacing an earlier export.

  The signature `serving_default` takes `images`, uint8 [batch, height, width,
  channels] in 0..255 for any batch, and returns `probabilities`, float32
  [batch, classes], and `class_name`, string [batch], the most probable one.

  Args:
    model: The model that was trained; its own weights are overwritten.
    weights: Trained weights with batch normalisation statistics.
    class_names: A name for each class.
    path: The folder to save to.

  Raises:
    ExportError: If the saved model does not load or gives other probabilities
      than the model. An earlier export stays as it is.
  """
  for variables, values in (
    (model.trainable_weights, weights.trainable),
    (model.non_trainable_weights, weights.non_trainable),
  ):
    for variable, value in zip(variables, values, strict=True):
      variable.assign(value)

  module = tf.Module()
  module.model = model
  names = tf.constant(list(class_names))

  @tf.function(
    input_signature=[tf.TensorSpec(model.input_shape, tf.uint8, 'images')]
  )
  def serve(images: tf.Tensor) -> dict[str, tf.Tensor]:
    logits = model(tf.cast(images, tf.float32), training=False)
    return {
      'probabilities': tf.nn.softmax(logits),
      'class_name': tf.gather(names, tf.argmax(logits, axis=-1)),
    }

  temporary = path.with_name(path.name + '.temporary')
  shutil.rmtree(temporary, ignore_errors=True)
  tf.saved_model.save(module, str(temporary), signatures=serve)
  _check_saved_model(temporary, serve)
  shutil.rmtree(path, ignore_errors=True)
  temporary.rename(path)


def _check_saved_model(
  path: pathlib.Path, serve: tf.types.experimental.GenericFunction
) -> None:
  """Compares what was saved with what should have been, on noise."""
  shape = serve.input_signature[0].shape
  generator = np.random.default_rng(0)
  images = tf.constant(generator.integers(256, size=[2, *shape[1:]]), tf.uint8)
  expected = serve(images)['probabilities']
  loaded = tf.saved_model.load(str(path)).signatures['serving_default']
  found = loaded(images=images)['probabilities']
  if not np.allclose(expected, found, atol=1e-5):
    shutil.rmtree(path)
    raise ExportError(
      'The saved model gives other probabilities than the trained one, by up'
      f' to {np.abs(expected - found).max()}; nothing was exported.'
    )
