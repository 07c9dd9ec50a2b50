# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The interface of exported models, and its implementation for SavedModels."""

import abc
from collections.abc import Callable, Iterable, Sequence
import pathlib
from typing import TypeVar
import unicodedata

import numpy as np
import tensorflow as tf

from tff_semifl.data import pixels
from tff_semifl.data import sources
from tff_semifl.label_shift import input_shift
from tff_semifl.label_shift import share_prior
from tff_semifl.privacy import privacy_statement

_Value = TypeVar('_Value')

# Signatures of a SavedModel. `CLASS_NAMES` and `DESCRIPTION` take no input.
SERVING = 'serving_default'
SERVING_ENCODED = 'serving_encoded'
SERVING_WITH_SHARES = 'serving_with_shares'
ESTIMATE_SHARES = 'estimate_shares'
CLASS_NAMES = 'class_names'
DESCRIPTION = 'description'
# The input of `SERVING_WITH_SHARES`, and of a TFLite model that takes shares.
CLASS_SHARES = 'class_shares'
# Outputs of the `description` signature.
IMAGE_SHAPE = 'image_shape'


class ExportedModelError(Exception):
  """A path is not a usable exported model; the message is one line."""


class ExportedModel(abc.ABC):
  """A classifier of images or feature vectors, loaded from disk."""

  class_names: tuple[str, ...]
  # Height, width and channels of the input; or the number of features.
  image_shape: tuple[int, ...]
  # None without differential privacy.
  privacy: privacy_statement.PrivacyStatement | None
  # The prior of a site's class shares, for the probabilities of `predict`.
  prior: share_prior.SharePrior | None

  @property
  def kind(self) -> sources.ExampleKind:
    """The kind of the model's input: images or feature vectors."""
    return sources.kind_of(self.image_shape)

  @property
  def num_channels(self) -> int:
    """The number of input channels: 3 for color, 1 for gray."""
    return self.image_shape[-1]

  def check_takes(self, shape: Sequence[int]) -> None:
    """Raises a `ValueError` unless the model accepts examples of this shape."""
    kind = sources.kind_of(shape)
    if kind is not self.kind:
      raise ValueError(f'has {kind.name}; the model takes {self.kind.name}')
    if shape[-1] != self.image_shape[-1]:
      what = 'channels' if kind is sources.IMAGES else 'features'
      raise ValueError(
        f'its {kind.name} have {shape[-1]} {what}, those of the model'
        f' {self.image_shape[-1]}'
      )

  @abc.abstractmethod
  def predict(self, images: np.ndarray) -> np.ndarray:
    """Class probabilities, float32 [batch, num_classes].

    Images are uint8 [batch, height, width, num_channels], of any size; feature
    vectors are float32 [batch, features].
    """

  def summarize(self, images: np.ndarray) -> np.ndarray:
    """Summaries of examples, by `input_shift`; `images` as for `predict`."""
    fitted = tf.constant(images)
    if self.kind is sources.IMAGES:
      fitted = pixels.fit_to_size(fitted, *self.image_shape[:2])
    return input_shift.summarize(fitted).numpy()


class SavedModel(ExportedModel):
  """A SavedModel, which resizes images itself."""

  def __init__(self, path: pathlib.Path):
    try:
      # Kept, because the signatures hold only weak references to the module.
      self._module = tf.saved_model.load(str(path))
    # TensorFlow's errors are of many types, OSError among them.
    except Exception as error:
      raise ExportedModelError(
        f'{path} has no SavedModel that can be loaded'
        f' ({str(error).splitlines()[0]})'
      ) from error
    signatures = self._module.signatures
    if not {SERVING, CLASS_NAMES, DESCRIPTION} <= set(signatures):
      raise ExportedModelError(
        f'{path} is another SavedModel, or an old one, without the signatures'
        f' {CLASS_NAMES} and {DESCRIPTION}; export it again'
      )
    self._serve = signatures[SERVING]
    names = signatures[CLASS_NAMES]()[CLASS_NAMES].numpy()
    self.class_names = normalize(name.decode() for name in names)
    description = signatures[DESCRIPTION]()
    self.image_shape = tuple(description[IMAGE_SHAPE].numpy().tolist())
    file = path / privacy_statement.NAME
    self.privacy = read_part(privacy_statement.from_json, file.read_bytes, file)
    file = path / share_prior.NAME
    self.prior = read_part(share_prior.from_json, file.read_bytes, file)

  def predict(self, images: np.ndarray) -> np.ndarray:
    (name,) = self._serve.structured_input_signature[1]
    outputs = self._serve(**{name: tf.constant(images)})
    return outputs['probabilities'].numpy()


def normalize(names: Iterable[str]) -> tuple[str, ...]:
  """Class names in Unicode's composed form (NFC), as in `own_labels`."""
  return tuple(unicodedata.normalize('NFC', name) for name in names)


def read_part(
  parse: Callable[[str], _Value], read: Callable[[], bytes], path: pathlib.Path
) -> _Value | None:
  """Parses a file of an exported model; None if the file is missing."""
  try:
    return parse(read().decode())
  # A ZIP file raises KeyError for a missing file, a folder FileNotFoundError.
  except (KeyError, FileNotFoundError):
    return None
  except (OSError, ValueError) as error:
    raise ExportedModelError(f'{path} is damaged: {error}') from error
