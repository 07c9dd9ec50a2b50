# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Loads exported models and predicts with them."""

import abc
from collections.abc import Callable, Iterable, Sequence
import functools
import os
import pathlib
import zipfile

import numpy as np
import tensorflow as tf

from tff_semifl.data import example_kinds
from tff_semifl.data import image_files
from tff_semifl.data import names as names_lib
from tff_semifl.export import resizing
from tff_semifl.privacy import privacy_statement

# Signatures of a SavedModel; the last two take nothing.
SERVING = 'serving_default'
SERVING_ENCODED = 'serving_encoded'
CLASS_NAMES = 'class_names'
DESCRIPTION = 'description'
# What a description returns.
IMAGE_SHAPE = 'image_shape'
LEAST_CONFIDENCE = 'least_confidence'
BACKGROUND = 'background'
# In a TFLite model: a name a line, a number if it is not 0, and the name of a
# color if it is not white.
LABELS_FILE = 'labels.txt'
LEAST_CONFIDENCE_FILE = 'least_confidence.txt'
BACKGROUND_FILE = 'background.txt'
# The class of an image that a model is not sure of.
UNKNOWN = 'unknown'


class ExportedModelError(Exception):
  """Raised if a path has no exported model; the message is one line."""


def check_least_confidence(
  class_names: Sequence[str], least_confidence: float
) -> None:
  """Checks that images below a floor of confidence can be told from others.

  Args:
    class_names: A name for each class.
    least_confidence: Least probability of the most probable class for an image
      to be given it; below, the class is `UNKNOWN`.

  Raises:
    ValueError: If it is not in [0, 1], or a class has that name.
  """
  if not 0 <= least_confidence <= 1:
    raise ValueError(
      f'least_confidence: found {least_confidence}; give a probability, in'
      ' [0, 1]'
    )
  if least_confidence > 0 and UNKNOWN in class_names:
    raise ValueError(
      f'the model has a class {UNKNOWN}; leave out the least confidence'
    )


class ExportedModel(abc.ABC):
  """A classifier of images or feature vectors, in a file or a folder.

  Attributes:
    class_names: A name for each class.
    image_shape: Height, width and channels that its network takes; or the
      number of features.
    least_confidence: Least probability, in [0, 1], of the most probable class
      for an image to be given it; below, the class is `UNKNOWN`.
    background: Red, green and blue, in 0..255, behind what is transparent.
    privacy: The guarantee to the clients whose images it was trained on, or
      None if privacy was not asked for.
  """

  class_names: tuple[str, ...]
  image_shape: tuple[int, ...]
  least_confidence: float
  background: image_files.Color
  privacy: privacy_statement.PrivacyStatement | None

  @property
  def kind(self) -> example_kinds.ExampleKind:
    """Says whether it takes images or feature vectors."""
    return example_kinds.kind_of(self.image_shape)

  @property
  def num_channels(self) -> int:
    """Channels of its input images: 3 for colors, 1 for gray."""
    return self.image_shape[-1]

  def check_takes(self, shape: Sequence[int]) -> None:
    """Checks that the model can be shown examples of a shape.

    Args:
      shape: Height, width and channels, or the number of features.

    Raises:
      ValueError: If it cannot. Images may have any height and width.
    """
    kind = example_kinds.kind_of(shape)
    if kind is not self.kind:
      raise ValueError(f'has {kind.name}; the model takes {self.kind.name}')
    if shape[-1] != self.image_shape[-1]:
      what = 'channels' if kind is example_kinds.IMAGES else 'features'
      raise ValueError(
        f'its {kind.name} have {shape[-1]} {what}, those of the model'
        f' {self.image_shape[-1]}'
      )

  @abc.abstractmethod
  def predict(self, images: np.ndarray) -> np.ndarray:
    """Returns the probability of each class.

    Args:
      images: uint8 [batch, height, width, num_channels], of any size; or
        feature vectors, float32 [batch, features].

    Returns:
      float32 [batch, num_classes].
    """


def load(path: pathlib.Path) -> ExportedModel:
  """Loads a model.

  Args:
    path: The folder of a SavedModel, or a TFLite file.

  Returns:
    The model.

  Raises:
    ExportedModelError: If it is no model, or was not exported by this project.
  """
  if not path.exists():
    raise ExportedModelError(f'{path} is missing')
  return _TFLiteModel(path) if path.is_file() else _SavedModel(path)


class _SavedModel(ExportedModel):
  """A SavedModel, which makes images fit by itself."""

  def __init__(self, path: pathlib.Path):
    try:
      # Kept, as its signatures have no more than weak references to it.
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
    self.class_names = _normalize(name.decode() for name in names)
    description = signatures[DESCRIPTION]()
    self.image_shape = tuple(description[IMAGE_SHAPE].numpy().tolist())
    self.least_confidence = float(description[LEAST_CONFIDENCE])
    background = description.get(BACKGROUND, tf.constant(image_files.WHITE))
    self.background = tuple(background.numpy().tolist())
    file = path / privacy_statement.NAME
    self.privacy = _read_privacy(file.read_bytes, file)

  def predict(self, images: np.ndarray) -> np.ndarray:
    (name,) = self._serve.structured_input_signature[1]
    outputs = self._serve(**{name: tf.constant(images)})
    return outputs['probabilities'].numpy()


class _TFLiteModel(ExportedModel):
  """A TFLite model; images are made to fit here."""

  def __init__(self, path: pathlib.Path):
    # Checked before TFLite reads it, which would crash on a truncated file.
    try:
      with zipfile.ZipFile(path) as archive:
        names = archive.read(LABELS_FILE).decode()
        self.least_confidence = 0.0
        if LEAST_CONFIDENCE_FILE in archive.namelist():
          self.least_confidence = float(archive.read(LEAST_CONFIDENCE_FILE))
        self.background = image_files.WHITE
        if BACKGROUND_FILE in archive.namelist():
          self.background = image_files.parse_color(
            archive.read(BACKGROUND_FILE).decode()
          )
        self.privacy = _read_privacy(
          functools.partial(archive.read, privacy_statement.NAME), path
        )
    except (OSError, ValueError, zipfile.BadZipFile, KeyError) as error:
      raise ExportedModelError(
        f'{path} is no TFLite model of this project, with the names of its'
        ' classes at its end, or not all of it'
      ) from error
    try:
      self._interpreter = tf.lite.Interpreter(
        str(path), num_threads=os.cpu_count()
      )
      self._interpreter.allocate_tensors()
    except (RuntimeError, ValueError) as error:
      raise ExportedModelError(
        f'{path} is no TFLite model ({str(error).splitlines()[0]})'
      ) from error
    self.class_names = _normalize(names.split('\n'))
    (self._input,) = self._interpreter.get_input_details()
    (self._output,) = self._interpreter.get_output_details()
    self.image_shape = tuple(self._input['shape'][1:].tolist())

  def predict(self, images: np.ndarray) -> np.ndarray:
    if self.kind is example_kinds.IMAGES:
      height, width, _ = self.image_shape
      fitted = resizing.fit_to_size(tf.constant(images), height, width)
      images = np.rint(fitted.numpy()).astype(np.uint8)
    outputs = []
    for image in images:
      self._interpreter.set_tensor(self._input['index'], image[np.newaxis])
      self._interpreter.invoke()
      # A copy, as the next image overwrites the output.
      outputs.append(self._interpreter.get_tensor(self._output['index'])[0])
    return np.array(outputs)


def _normalize(names: Iterable[str]) -> tuple[str, ...]:
  """Returns names of classes in the form in which others are read."""
  return tuple(map(names_lib.normalize, names))


def _read_privacy(
  read: Callable[[], bytes], path: pathlib.Path
) -> privacy_statement.PrivacyStatement | None:
  """Returns a model's privacy statement, None if it has none."""
  try:
    return privacy_statement.from_json(read().decode())
  # That of a ZIP file that has no such file, and that of a folder.
  except (KeyError, FileNotFoundError):
    return None
  except (OSError, ValueError) as error:
    raise ExportedModelError(f'{path} is damaged: {error}') from error
