# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""TFLite models, for phones: writes, loads and runs them.

A model takes one image of the network's input size, uint8 [1, height, width,
channels], or one feature vector, float32 [1, features]. It returns class
probabilities, float32 [1, classes]. All operations are TFLite builtins. Class
names are packed into the file as TFLite metadata: `unzip model.tflite` gives
`labels.txt`. A model from `take_shares` has a second input, the class shares of
the phone or its site.
"""

from collections.abc import Iterator, Sequence
import enum
import functools
import io
import os
import pathlib
import zipfile

import numpy as np
import tensorflow as tf

from tff_semifl.data import pixels
from tff_semifl.data import sources
from tff_semifl.export import exported_model
from tff_semifl.label_shift import share_prior
from tff_semifl.privacy import privacy_statement

# Class names of a TFLite model, one a line, packed into the file.
LABELS_FILE = 'labels.txt'


class Precision(enum.Enum):
  """The number format of a model's weights and arithmetic.

  With float16, arithmetic is in float16 on phones that support it, and in
  float32 otherwise.
  """

  FLOAT32 = 'float32'
  FLOAT16 = 'float16'
  INT8 = 'int8'


def take_shares(
  model: tf.keras.Model, prior: share_prior.SharePrior
) -> tf.keras.Model:
  """A model that also takes class shares, float32 [batch, classes].

  With `prior.mean_shares` the new model predicts the same classes as `model`.
  """
  shares = tf.keras.Input([len(prior.mean_shares)])
  logits = tf.keras.layers.Lambda(
    lambda inputs: share_prior.adapt_logits(*inputs, prior)
  )([model.outputs[0], shares])
  return tf.keras.Model([*model.inputs, shares], logits, name=model.name)


def check_is_for_integers(model: tf.keras.Model) -> None:
  """Raises a `ValueError` if a Keras model cannot be quantized to int8."""
  if len(model.inputs) > 1:
    raise ValueError(
      'class shares need more than the 8 bits of int8; float16 will do'
    )
  if sources.kind_of(model.input_shape[1:]) is sources.FEATURES:
    raise ValueError(
      'all features would share the 8 bits of int8, whatever their ranges;'
      ' float16 will do'
    )
  # Group normalization divides by the deviation within an image, for which 8
  # bits are too few.
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
  prior: share_prior.SharePrior | None = None,
) -> bytes:
  """Converts a trained model to the content of a TFLite file.

  `model` is as for `export_saved_model`, or from `take_shares`.
  `calibration_images`, uint8 [num_images, height, width, channels], are needed
  for INT8, to measure the range of activations. The file contains `privacy` and
  `prior`, too.
  """
  is_int8 = precision is Precision.INT8
  if is_int8:
    check_is_for_integers(model)

  shape = model.inputs[0].shape[1:]
  # The converter gives an int8 model uint8 inputs, whatever this type.
  dtype = tf.float32 if is_int8 else sources.kind_of(shape).dtype
  signature = [tf.TensorSpec([1, *shape], dtype, 'images')]
  for shares in model.inputs[1:]:
    signature.append(
      tf.TensorSpec([1, *shares.shape[1:]], name=exported_model.CLASS_SHARES)
    )

  @tf.function(input_signature=signature)
  def serve(images: tf.Tensor, *shares: tf.Tensor) -> dict[str, tf.Tensor]:
    images = tf.cast(images, tf.float32)
    logits = model([images, *shares] if shares else images, training=False)
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
  files = {LABELS_FILE: '\n'.join(class_names)}
  if privacy is not None:
    files[privacy_statement.NAME] = privacy.to_json()
  if prior is not None:
    # The model's probabilities are rounded, or at another temperature.
    packed = prior.for_inputs(shape)._replace(entropies=())
    files[share_prior.NAME] = packed.to_json()
  # Metadata are a ZIP archive behind the model.
  file = io.BytesIO(converter.convert())
  with zipfile.ZipFile(file, 'a') as archive:
    for name, text in files.items():
      archive.writestr(name, text)
  return file.getvalue()


def _calibration(images: np.ndarray) -> Iterator[list[np.ndarray]]:
  """Yields single images; the first gets a black and a white pixel."""
  images = images.astype(np.float32)
  # The input's range is then exactly 0..255 for any images, so that one integer
  # step is one gray level.
  images[0, 0, 0] = 0
  images[0, -1, -1] = 255
  for image in images:
    yield [image[np.newaxis]]


def load(path: pathlib.Path) -> exported_model.ExportedModel:
  """Loads an exported model: a TFLite file, or the folder of a SavedModel."""
  if not path.exists():
    raise exported_model.ExportedModelError(f'{path} is missing')
  return (
    TFLiteModel(path) if path.is_file() else exported_model.SavedModel(path)
  )


class TFLiteModel(exported_model.ExportedModel):
  """A TFLite model; `predict` resizes images for the model."""

  def __init__(self, path: pathlib.Path):
    # Checked first: TFLite would crash on a truncated file.
    try:
      with zipfile.ZipFile(path) as archive:
        names = archive.read(LABELS_FILE).decode()
        self.privacy = exported_model.read_part(
          privacy_statement.from_json,
          functools.partial(archive.read, privacy_statement.NAME),
          path,
        )
        self.prior = exported_model.read_part(
          share_prior.from_json,
          functools.partial(archive.read, share_prior.NAME),
          path,
        )
    except (OSError, ValueError, zipfile.BadZipFile, KeyError) as error:
      raise exported_model.ExportedModelError(
        f'{path} is no TFLite model of this project, with the names of its'
        ' classes at its end, or not all of it'
      ) from error
    try:
      self._interpreter = tf.lite.Interpreter(
        str(path), num_threads=os.cpu_count()
      )
      self._interpreter.allocate_tensors()
    except (RuntimeError, ValueError) as error:
      raise exported_model.ExportedModelError(
        f'{path} is no TFLite model ({str(error).splitlines()[0]})'
      ) from error
    self.class_names = exported_model.normalize(names.split('\n'))
    (self._output,) = self._interpreter.get_output_details()
    for details in self._interpreter.get_input_details():
      if exported_model.CLASS_SHARES in details['name']:
        # With the mean shares, predictions are the global model's.
        shares = np.array([self.prior.mean_shares], np.float32)
        self._interpreter.set_tensor(details['index'], shares)
        # The TFLite model applies the temperature itself.
        self.prior = self.prior._replace(temperature=1.0)
      else:
        self._input = details
    self.image_shape = tuple(self._input['shape'][1:].tolist())

  def predict(self, images: np.ndarray) -> np.ndarray:
    if self.kind is sources.IMAGES:
      height, width, _ = self.image_shape
      fitted = pixels.fit_to_size(tf.constant(images), height, width)
      images = fitted.numpy().astype(np.uint8)
    outputs = []
    for image in images:
      self._interpreter.set_tensor(self._input['index'], image[np.newaxis])
      self._interpreter.invoke()
      # Copied, because the next image overwrites the output.
      outputs.append(self._interpreter.get_tensor(self._output['index'])[0])
    return np.array(outputs)
