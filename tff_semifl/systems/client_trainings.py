# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The settings of a client's turn: how it labels its images and trains."""

import abc
import dataclasses
from typing import Any, ClassVar

import tensorflow as tf
import tensorflow_federated as tff

from tff_semifl import pseudo_labels
from tff_semifl import settings
from tff_semifl.data import pipelines
from tff_semifl.models import functional
from tff_semifl.systems import system
from tff_semifl.systems import training_settings
from tff_semifl.work import batch_label_training
from tff_semifl.work import client_work
from tff_semifl.work import fix_mix_training
from tff_semifl.work import guidance
from tff_semifl.work import labeled_client_training


class ClientTraining(settings.Settings, abc.ABC):
  """Base of the parts that say what a client does in its turn.

  Attributes:
    labels_by_received_model: Whether images are labeled with the model that the
      client receives.
    reports_beside_updates: Whether the client has something to say to
      `Guidance.update`.
  """

  labels_by_received_model: ClassVar[bool] = False
  reports_beside_updates: ClassVar[bool] = False

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
  ) -> guidance.Guidance | None:
    """Builds what the server keeps and tells clients beside the weights.

    Args:
      classifier: The model.
    """
    del classifier  # By default there is nothing.
    return None

  @property
  def measures_pseudo_labels(self) -> bool:
    """True if pseudo-labels are compared with the truth, where it is known."""
    return True

  def client_data_type(
    self, classifier: functional.ImageClassifier
  ) -> tff.SequenceType | None:
    """Returns the type of a client's data; None for images without labels."""
    del classifier  # For those that have labels.
    return None


@dataclasses.dataclass(frozen=True, kw_only=True)
class Fix(ClientTraining):
  """Labels all images once, with the received model, and trains on sure ones.

  It is the fix loss of SemiFL, section 3.3, alone.
  """

  labels_by_received_model = True

  confidence: training_settings.Confidence = training_settings.Confidence()
  measure_pseudo_labels: bool = settings.setting(
    True,
    'Whether to compare pseudo-labels with the true ones, which a simulation'
    ' knows; training never does. Cells of metrics.csv are empty otherwise, as'
    ' they are where the classes of images are not known.',
  )

  def build(
    self,
    ingredients: system.Ingredients,
    optimizer: tff.learning.optimizers.Optimizer,
    turn: training_settings.ClientEpochs,
  ) -> client_work.LocalTrainingFn:
    """Builds what a client does, plain TensorFlow."""
    return fix_mix_training.build_fix_mix_training(
      ingredients.classifier,
      weak_augmentation=ingredients.weak_augmentation,
      strong_augmentation=ingredients.strong_augmentation,
      optimizer=optimizer,
      num_epochs=turn.client_epochs,
      batch_size=turn.client_batch_size,
      selection_fn=self.select,
      report_fn=self.report,
      **self.mixing,
    )

  @property
  def mixing(self) -> dict[str, Any]:
    """The arguments of `build_fix_mix_training` on labels and mixup."""
    # The concentration is of no use without mixing.
    return {'mixup_concentration': 1.0, 'mix_loss_weight': 0.0}

  def select(
    self, guidance: Any, labels: pseudo_labels.PseudoLabels
  ) -> tf.Tensor:
    """Returns which images are trained on, a `pseudo_labels.SelectionFn`."""
    return pseudo_labels.at_least(self.confidence.confidence_threshold)(
      guidance, labels
    )

  def report(self, labels: pseudo_labels.PseudoLabels) -> Any:
    """Returns what the client says of its labels to `Guidance.update`."""
    del labels  # By default there is nothing to say.
    return ()

  @property
  def measures_pseudo_labels(self) -> bool:
    """True if pseudo-labels are compared with the truth, where it is known."""
    return self.measure_pseudo_labels


@dataclasses.dataclass(frozen=True, kw_only=True)
class FixMix(Fix):
  """SemiFL's client: labels once, then trains on fix and mix losses."""

  mixup_concentration: float = settings.setting(
    0.75,
    'Both parameters of the Beta distribution that mixup draws from.',
    settings.ABOVE_0,
  )
  mix_loss_weight: float = settings.setting(
    1.0,
    'Factor on the loss of mixed images; 0 leaves them out.',
    settings.AT_LEAST_0,
  )
  soft_pseudo_labels: bool = settings.setting(
    False,
    "Whether clients train on the probabilities of all classes, as the paper's"
    ' formulas have it, instead of the most probable class (D12).',
  )
  mix_once_per_round: bool = settings.setting(
    False,
    'Whether all epochs of a client mix with the same images, as in the paper,'
    ' instead of each with a new draw (D13).',
  )
  mix_before_augmentation: bool = settings.setting(
    False,
    'Whether raw images are mixed and the mixture augmented, as in the paper,'
    ' instead of two weak views mixed (D14).',
  )

  @property
  def mixing(self) -> dict[str, Any]:
    """The arguments of `build_fix_mix_training` on labels and mixup."""
    return {
      'mixup_concentration': self.mixup_concentration,
      'mix_loss_weight': self.mix_loss_weight,
      'soft_labels': self.soft_pseudo_labels,
      'mix_once_per_round': self.mix_once_per_round,
      'mix_before_augmentation': self.mix_before_augmentation,
    }


@dataclasses.dataclass(frozen=True, kw_only=True)
class LabelEachBatch(ClientTraining):
  """Labels each batch with the model that it trains, as FixMatch does."""

  confidence: training_settings.Confidence = training_settings.Confidence()

  def build(
    self,
    ingredients: system.Ingredients,
    optimizer: tff.learning.optimizers.Optimizer,
    turn: training_settings.ClientEpochs,
  ) -> client_work.LocalTrainingFn:
    """Builds what a client does, plain TensorFlow."""
    return batch_label_training.build_batch_label_training(
      ingredients.classifier,
      weak_augmentation=ingredients.weak_augmentation,
      strong_augmentation=ingredients.strong_augmentation,
      optimizer=optimizer,
      num_epochs=turn.client_epochs,
      batch_size=turn.client_batch_size,
      selection_fn=pseudo_labels.at_least(self.confidence.confidence_threshold),
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class TrainOnLabels(ClientTraining):
  """Trains on true labels, as HeteroFL's clients do (D.7, D53)."""

  measures_pseudo_labels = False

  mask_absent_classes: bool = settings.setting(
    False,
    'Whether logits of classes that a client has no image of are 0 in its loss,'
    ' as in HeteroFL. Rows of the classifier are averaged over all clients in'
    ' any case (D53).',
  )

  def build(
    self,
    ingredients: system.Ingredients,
    optimizer: tff.learning.optimizers.Optimizer,
    turn: training_settings.ClientEpochs,
  ) -> client_work.LocalTrainingFn:
    """Builds what a client does, plain TensorFlow."""
    return labeled_client_training.build_labeled_client_training(
      ingredients.classifier,
      weak_augmentation=ingredients.weak_augmentation,
      optimizer=optimizer,
      num_epochs=turn.client_epochs,
      batch_size=turn.client_batch_size,
      mask_absent_classes=self.mask_absent_classes,
    )

  def client_data_type(
    self, classifier: functional.ImageClassifier
  ) -> tff.SequenceType | None:
    """Returns the type of a client's data: images with labels."""
    return pipelines.labeled_client_type(classifier.image_shape)
