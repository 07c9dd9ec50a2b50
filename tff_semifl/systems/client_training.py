# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The interface of a client's turn: how it labels its images and trains."""

import abc
from typing import ClassVar

import tensorflow_federated as tff

from tff_semifl.models import functional
from tff_semifl.systems import padded_images
from tff_semifl.systems import system
from tff_semifl.systems import training_settings
from tff_semifl.work import client_work
from tff_semifl.work import guidance as guidance_lib


class ClientTraining(padded_images.MayHeedPadding, abc.ABC):
  """Base of the parts that say what a client does in its turn.

  One that heeds padding heeds `num_images` of `client_work.LocalTrainingFn`.

  Attributes:
    labels_by_received_model: Whether images are labeled with the model that the
      client receives.
  """

  labels_by_received_model: ClassVar[bool] = False

  @abc.abstractmethod
  def build(
    self,
    ingredients: system.Ingredients,
    optimizer: tff.learning.optimizers.Optimizer,
    turn: training_settings.ClientEpochs,
  ) -> client_work.LocalTrainingFn:
    """Builds what a client does, plain TensorFlow.

    Args:
      ingredients: The model and the augmentations.
      optimizer: Takes a step a batch, with the round's learning rate.
      turn: The turn's length.
    """

  def build_guidance(
    self, classifier: functional.ImageClassifier
  ) -> guidance_lib.Guidance | None:
    """Builds what the server keeps and tells clients beside the weights.

    Args:
      classifier: The model.
    """
    del classifier  # By default there is nothing.
    return None

  @property
  def summary(self) -> str:
    """A line that describes it."""
    return system.summarize(self)

  @property
  def measures_pseudo_labels(self) -> bool:
    """True if pseudo-labels are compared with the truth, where it is known."""
    return True

  @property
  def weighs_clients(self) -> bool:
    """True if updates of clients that train may differ in weight."""
    return False

  def client_data_type(
    self, classifier: functional.ImageClassifier
  ) -> tff.SequenceType | None:
    """Returns the type of a client's data; None for images without labels."""
    del classifier  # For those that have labels.
    return None
