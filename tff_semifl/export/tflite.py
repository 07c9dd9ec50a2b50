# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""A trained model as TFLite models, for phones.

They take one image at a time, uint8 [1, height, width, channels] of the model's
size, or one feature vector, float32 [1, features], and return the probabilities
of its classes, float32 [1, classes]. All
operations are TFLite's own. The names of the classes are packed into the file,
as TFLite metadata has it: `unzip model.tflite` gives `labels.txt`. So is the
least confidence, if it is not 0; whoever uses the model has to heed it.
"""

from collections.abc import Iterator, Mapping, Sequence
import enum
import io
import zipfile

import numpy as np
import tensorflow as tf

from tff_semifl.data import example_kinds
from tff_semifl.data import image_files
from tff_semifl.export import exported_model
from tff_semifl.privacy import privacy_statement


class Precision(enum.Enum):
  """The number format of a model's weights and arithmetic.

  Attributes:
    FLOAT32: Both as in training.
    FLOAT16: Weights of half the size, computed with in float32, or in float16
      where a phone does so.
    INT8: Weights and what is computed, in integers alone.
  """

  FLOAT32 = 'float32'
  FLOAT16 = 'float16'
  INT8 = 'int8'


def check_is_for_integers(model: tf.keras.Model) -> None:
  """Checks that eight bits are enough for all that a model computes.

  Args:
    model: The Keras model.

  Raises:
    ValueError: If they are not.
  """
  if example_kinds.kind_of(model.input_shape[1:]) is example_kinds.FEATURES:
    raise ValueError(
      'all features would share the 8 bits of int8, whatever their ranges;'
      ' float16 will do'
    )
  # It divides by the deviation within an image, of which they leave so little
  # that the answers are others.
  if any(
    isinstance(layer, tf.keras.layers.GroupNormalization)
    for layer in model.layers
  ):
    raise ValueError(
      'group normalization needs more than the 8 bits of int8; float16 will do'
    )


def convert(
  model: tf.keras.Model,
  class_names: Sequence[str],
  precision: Precision,
  calibration_images: np.ndarray | None = None,
  privacy: privacy_statement.PrivacyStatement | None = None,
  least_confidence: float = 0.0,
  background: image_files.Color = image_files.WHITE,
) -> bytes:
  """Converts a trained model.

  Args:
    model: The model, from float32 [batch, height, width, channels] in 0..255,
      or [batch, features], to logits.
    class_names: A name for each class.
    precision: The number format.
    calibration_images: Images that show the range of values, uint8
      [num_images, height, width, channels], at least one. Used for INT8 only.
    privacy: The guarantee to the clients whose images it was trained on.
    least_confidence: Least probability, in [0, 1], of the most probable class
      for an image to be given it.
    background: The color behind what is transparent, as in training.

  Returns:
    The content of the file.

  Raises:
    ValueError: If the model cannot be computed with those integers, or the
      least confidence is none.
  """
  exported_model.check_least_confidence(class_names, least_confidence)
  is_int8 = precision is Precision.INT8
  if is_int8:
    check_is_for_integers(model)

  kind = example_kinds.kind_of(model.input_shape[1:])

  @tf.function(
    input_signature=[
      tf.TensorSpec(
        [1, *model.input_shape[1:]],
        # The converter makes uint8 of it, without a step in between.
        tf.float32 if is_int8 else kind.dtype,
        'images',
      )
    ]
  )
  def serve(images: tf.Tensor) -> dict[str, tf.Tensor]:
    logits = model(tf.cast(images, tf.float32), training=False)
    return {'probabilities': tf.nn.softmax(logits)}

  converter = tf.lite.TFLiteConverter.from_concrete_functions(
    [serve.get_concrete_function()], model
  )
  if precision is not Precision.FLOAT32:
    converter.optimizations = [tf.lite.Optimize.DEFAULT]
  if precision is Precision.FLOAT16:
    converter.target_spec.supported_types = [tf.float16]
  if is_int8:
    converter.representative_dataset = lambda: _calibration(calibration_images)
    converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS_INT8]
    converter.inference_input_type = tf.uint8
  files = {exported_model.LABELS_FILE: '\n'.join(class_names)}
  if least_confidence > 0:
    files[exported_model.LEAST_CONFIDENCE_FILE] = str(least_confidence)
  if background != image_files.WHITE:
    files[exported_model.BACKGROUND_FILE] = image_files.name_color(background)
  if privacy is not None:
    files[privacy_statement.NAME] = privacy.to_json()
  return _pack(converter.convert(), files)


def _calibration(images: np.ndarray) -> Iterator[list[np.ndarray]]:
  """Yields images as the model takes them, from black to white."""
  images = images.astype(np.float32)
  # A step of the input's integers is then one gray level, neither more nor
  # less, whatever these images are of: 0..255 are the pixels themselves.
  images[0, 0, 0] = 0
  images[0, -1, -1] = 255
  for image in images:
    yield [image[np.newaxis]]


def _pack(content: bytes, files: Mapping[str, str]) -> bytes:
  """Returns a model with files behind it, by their names, as a ZIP file."""
  file = io.BytesIO(content)
  with zipfile.ZipFile(file, 'a') as archive:
    for name, text in files.items():
      archive.writestr(name, text)
  return file.getvalue()
