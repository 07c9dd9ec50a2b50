# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Exports a trained model as a SavedModel that needs only TensorFlow."""

from collections.abc import Callable, Sequence
import pathlib

import numpy as np
import tensorflow as tf

from tff_semifl.data import pixels
from tff_semifl.data import sources
from tff_semifl.export import exported_model
from tff_semifl.label_shift import input_shift
from tff_semifl.label_shift import share_prior
from tff_semifl.privacy import privacy_statement

# Pillow's weights of red, green and blue for gray, in 1/65536.
_GRAY = (19595, 38470, 7471)
_PNG = b'\x89PNG\r\n\x1a\n'
# The position of the color type in a PNG file, and types with an alpha channel.
_COLOR_TYPE = 25
_WITH_OPACITY = (b'\x04', b'\x06')
# The PNG chunk that declares transparency for the other color types.
_TRANSPARENCY = 'tRNS'


def decode(encoded: tf.Tensor, num_channels: int) -> tf.Tensor:
  """Decodes a JPEG or PNG file.

  Unlike `image_files.read_image_of_any_size`, this ignores EXIF orientation,
  which TensorFlow does not read, and accepts 16-bit channels. `encoded` is a
  string []; the result is uint8 [height, width, num_channels].
  """
  colors = tf.cond(
    _is_transparent(encoded),
    lambda: _flatten(tf.io.decode_png(encoded, channels=4)),
    # Also decodes PNG. The default DCT method is faster but inexact.
    lambda: tf.io.decode_jpeg(
      encoded, channels=3, dct_method='INTEGER_ACCURATE'
    ),
  )
  if num_channels == 3:
    return colors
  weighted = tf.cast(colors, tf.int32) * tf.constant(_GRAY)
  gray = (tf.reduce_sum(weighted, axis=-1, keepdims=True) + 2**15) // 2**16
  return tf.cast(gray, tf.uint8)


def _is_transparent(encoded: tf.Tensor) -> tf.Tensor:
  """Whether a PNG declares transparency, bool [].

  Opaque files must not be decoded with four channels: if they have fewer than 8
  bits per channel, TensorFlow gives their pixels a wrong opacity.
  """
  num_bytes = tf.strings.length(encoded)
  # Padded, because `substr` fails past the end of a string.
  header = tf.strings.substr(
    tf.strings.join([encoded, tf.constant(bytes(_COLOR_TYPE + 1))]),
    0,
    _COLOR_TYPE + 1,
  )
  is_png = tf.strings.substr(header, 0, len(_PNG)) == _PNG
  color_type = tf.strings.substr(header, _COLOR_TYPE, 1)
  without = tf.strings.regex_replace(
    encoded, _TRANSPARENCY, '', replace_global=False
  )
  return is_png & (
    tf.reduce_any(color_type == tf.constant(_WITH_OPACITY))
    | (tf.strings.length(without) < num_bytes)
  )


def _flatten(image: tf.Tensor) -> tf.Tensor:
  """Blends an RGBA image, uint8 [height, width, 4], with white."""
  levels = tf.cast(image, tf.int32)
  colors, opacity = levels[..., :3], levels[..., 3:]
  mixed = colors * opacity + 255 * (255 - opacity)
  return tf.cast((2 * mixed + 255) // 510, tf.uint8)


class ExportError(Exception):
  """The saved model differs from the trained model."""


def export_saved_model(
  model: tf.keras.Model,
  class_names: Sequence[str],
  path: pathlib.Path,
  privacy: privacy_statement.PrivacyStatement | None = None,
  prior: share_prior.SharePrior | None = None,
) -> None:
  """Saves a trained model.

  The SavedModel has these signatures:

  *   `serving_default`, which a call of the loaded object also runs: maps
      `images`, uint8 [batch, height, width, channels] in 0..255, of any size
      (see `pixels.fit_to_size`), to `probabilities`, float32 [batch, classes],
      and `class_name`, string [batch], the most probable class. A model of
      feature vectors takes `features`, float32 [batch, features], instead.
  *   `serving_encoded`, only for models of images: maps `image_bytes`, string
      [batch], JPEG or PNG files of any sizes, to the outputs of
      `serving_default`.
  *   `estimate_shares`, only with `prior`: maps images or features of one site
      to its `class_shares`, float32 [classes], their `deviations`, float32
      [classes], and `evidence`, float32 [] (see `share_prior.SiteShares`). With
      `prior.inputs`, another output is `shift`, float32 [] (see
      `input_shift.measure_shift`).
  *   `serving_with_shares`, only with `prior`: maps images or features and
      `class_shares`, float32 [classes], to the outputs of `serving_default` at
      a site with these shares. Shares are at least 0 and scaled to add up to 1;
      negative shares, or only zeros, are an error.
  *   `class_names`: the names of all classes.
  *   `description`: the model's `image_shape`, int32 [3], or the number of
      features, int32 [1].

  Args:
    model: A model that maps float32 [batch, height, width, channels] in 0..255,
      or [batch, features], to logits.
    class_names: A name for each class.
    path: The folder to save to, new or empty.
    privacy: The guarantee of differential privacy, saved beside the model.
    prior: The prior of the class shares of a site.

  Raises:
    ExportError: If the saved model does not load, or its probabilities differ
      from the model's.
  """
  shape = model.input_shape[1:]
  prior = prior and prior.for_inputs(shape)
  module = tf.Module()
  # If the model itself were saved, Keras would save each layer a second time.
  module.weights = list(model.weights)
  names = tf.constant(list(class_names))

  # Layers of this function may branch on a tensor, which needs AutoGraph. The
  # other functions do without the slow conversion.
  @tf.function
  def compute_logits(fitted: tf.Tensor) -> tf.Tensor:
    return model(fitted, training=False)

  def classify(logits: tf.Tensor) -> dict[str, tf.Tensor]:
    name = tf.gather(names, tf.argmax(logits, axis=-1))
    return {'probabilities': tf.nn.softmax(logits), 'class_name': name}

  spec, fit = _choose_input(shape)
  serving = {
    exported_model.SERVING: _serve(
      lambda each: classify(compute_logits(fit(each))), spec
    )
  }
  if sources.kind_of(shape) is sources.IMAGES:
    serving[exported_model.SERVING_ENCODED] = _serve(
      lambda encoded: classify(compute_logits(_decode_and_fit(encoded, shape))),
      tf.TensorSpec([None], tf.string, 'image_bytes'),
    )
  if prior is not None:
    serving[exported_model.ESTIMATE_SHARES] = _serve(
      lambda each: _estimate_shares(fit(each), compute_logits, prior), spec
    )
    serving[exported_model.SERVING_WITH_SHARES] = _serve(
      lambda each, shares: classify(
        share_prior.adapt_logits(
          compute_logits(fit(each)), _check_shares(shares), prior
        )
      ),
      spec,
      tf.TensorSpec(
        [len(class_names)], tf.float32, exported_model.CLASS_SHARES
      ),
    )
  module.__call__ = serving[exported_model.SERVING]
  tf.saved_model.save(
    module,
    str(path),
    signatures={
      **serving,
      exported_model.CLASS_NAMES: _return({exported_model.CLASS_NAMES: names}),
      exported_model.DESCRIPTION: _return(
        {exported_model.IMAGE_SHAPE: tf.constant(shape)}
      ),
    },
  )
  if privacy is not None:
    (path / privacy_statement.NAME).write_text(privacy.to_json())
  if prior is not None:
    (path / share_prior.NAME).write_text(prior.to_json())
  _check_saved_model(path, model)


def _return(outputs: dict[str, tf.Tensor]) -> Callable:
  return tf.function(lambda: outputs, input_signature=[], autograph=False)


def _serve(
  function: Callable[..., dict[str, tf.Tensor]], *specs: tf.TensorSpec
) -> tf.types.experimental.GenericFunction:
  return tf.function(function, input_signature=specs, autograph=False)


def _choose_input(
  shape: tuple[int, ...],
) -> tuple[tf.TensorSpec, Callable[[tf.Tensor], tf.Tensor]]:
  if sources.kind_of(shape) is sources.FEATURES:
    return tf.TensorSpec([None, *shape], tf.float32, 'features'), tf.identity
  height, width, num_channels = shape
  return (
    tf.TensorSpec([None, None, None, num_channels], tf.uint8, 'images'),
    lambda images: pixels.fit_to_size(images, height, width),
  )


def _decode_and_fit(
  image_bytes: tf.Tensor, shape: tuple[int, int, int]
) -> tf.Tensor:
  height, width, num_channels = shape

  def decode_and_fit(encoded: tf.Tensor) -> tf.Tensor:
    image = decode(encoded, num_channels)
    return pixels.fit_to_size(image[tf.newaxis], height, width)[0]

  return tf.map_fn(
    decode_and_fit,
    image_bytes,
    fn_output_signature=tf.TensorSpec(shape, tf.float32),
  )


def _check_shares(shares: tf.Tensor) -> tf.Tensor:
  """Returns the shares, float32 [classes], after a check of the values."""
  are_shares = tf.math.is_finite(shares) & (shares >= 0)
  check = tf.debugging.Assert(
    tf.reduce_all(are_shares) & tf.reduce_any(shares > 0),
    ['class_shares: must be 0 or above, and not all 0; found', shares],
    summarize=shares.shape[0],
  )
  with tf.control_dependencies([check]):
    return tf.identity(shares)


def _estimate_shares(
  fitted: tf.Tensor,
  compute_logits: Callable[[tf.Tensor], tf.Tensor],
  prior: share_prior.SharePrior,
) -> dict[str, tf.Tensor]:
  site = share_prior.estimate_site_shares(compute_logits(fitted), prior)
  found = site._asdict()
  if prior.inputs is not None:
    found['shift'] = input_shift.measure_shift(
      tf.reduce_mean(input_shift.summarize(fitted), axis=0),
      tf.cast(tf.shape(fitted)[0], tf.float32),
      prior.inputs,
    )
  return {exported_model.CLASS_SHARES: found.pop('shares'), **found}


def _check_saved_model(path: pathlib.Path, model: tf.keras.Model) -> None:
  shape = model.input_shape[1:]
  images = sources.kind_of(shape).draw_noise(
    np.random.default_rng(0), [2, *shape]
  )
  expected = tf.nn.softmax(model(images.astype(np.float32), training=False))
  found = exported_model.SavedModel(path).predict(images)
  if not np.allclose(expected, found, atol=1e-5):
    raise ExportError(
      'Probabilities of the saved and the trained model differ by up to'
      f' {np.abs(expected - found).max()}; nothing was exported.'
    )
