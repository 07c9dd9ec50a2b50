# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Clients that label their images: SemiFL's, and those of its ablations."""

from collections.abc import Mapping
import dataclasses
from typing import Any

import tensorflow as tf
import tensorflow_federated as tff

from tff_semifl import pseudo_labels
from tff_semifl import settings
from tff_semifl.models import functional
from tff_semifl.systems import client_parts
from tff_semifl.systems import client_training
from tff_semifl.systems import system
from tff_semifl.systems import training_settings
from tff_semifl.work import batch_label_training
from tff_semifl.work import client_work
from tff_semifl.work import fix_mix_training
from tff_semifl.work import guidance as guidance_lib


@dataclasses.dataclass(frozen=True, kw_only=True)
class Fix(client_training.ClientTraining):
  """Labels all images once, with the received model, and trains on sure ones.

  With its default parts, this is SemiFL with the fix loss alone (section 3.3).
  Each part can be exchanged.

  Attributes:
    selection: Which images are trained on.
    labeler: The model that labels.
    alignment: How its logits become labels.
    adjustment: What is added to logits in the losses.
    regularizer: A further loss.
    weighting: How much the client's update counts.
  """

  heeds_padding = True
  labels_by_received_model = True

  selection: client_parts.Selection = client_parts.FixedThreshold()
  labeler: client_parts.Labeler = client_parts.Labeler()
  alignment: client_parts.Alignment = client_parts.Alignment()
  adjustment: client_parts.Adjustment = client_parts.Adjustment()
  regularizer: client_parts.Regularizer = client_parts.Regularizer()
  weighting: client_parts.Weighting = client_parts.Weighting()
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
      labeler_fn=lambda guidance, weights: self.labeler.choose(
        _told(guidance, 'labeler'), weights
      ),
      label_fn=self.label,
      selection_fn=self.select,
      logit_offset_fn=self.logit_offset,
      consistency=self.regularizer.consistency,
      weight_fn=self.weigh,
      report_fn=self.report,
      form=ingredients.turn_form,
      **self.mixing,
    )

  @property
  def mixing(self) -> dict[str, Any]:
    """The arguments of `build_fix_mix_training` on labels and mixup."""
    # The concentration is of no use without mixing.
    return {'mixup_concentration': 1.0, 'mix_loss_weight': 0.0}

  def label(
    self, guidance: Any, logits: tf.Tensor
  ) -> pseudo_labels.PseudoLabels:
    """Returns labels of all images of a client, a `pseudo_labels.LabelFn`."""
    return self.alignment.label(_told(guidance, 'alignment'), logits)

  def select(
    self, guidance: Any, labels: pseudo_labels.PseudoLabels
  ) -> tf.Tensor:
    """Returns which images are trained on, a `pseudo_labels.SelectionFn`."""
    selected = tf.convert_to_tensor(
      self.selection.select(_told(guidance, 'selection'), labels)
    )
    if selected.dtype not in (tf.bool, tf.float32) or selected.shape.rank != 1:
      raise _wrong_result(
        'selection',
        self.selection,
        'select',
        'bool or float32 [images]',
        selected,
      )
    return selected

  def weigh(
    self, labels: pseudo_labels.PseudoLabels, num_selected: tf.Tensor
  ) -> tf.Tensor:
    """Returns the weight of the update, a `fix_mix_training.WeightFn`."""
    weight = tf.convert_to_tensor(self.weighting.weigh(labels, num_selected))
    if weight.dtype != tf.float32 or weight.shape.rank != 0:
      raise _wrong_result(
        'weighting', self.weighting, 'weigh', 'a float32 scalar', weight
      )
    return weight

  def logit_offset(
    self, guidance: Any, labels: pseudo_labels.PseudoLabels
  ) -> tf.Tensor | None:
    """Returns what is added to logits, a `fix_mix_training.LogitOffsetFn`."""
    return self.adjustment.logit_offset(_told(guidance, 'adjustment'), labels)

  def report(self, guidance: Any, labels: pseudo_labels.PseudoLabels) -> Any:
    """Returns the reports of the parts, for `Guidance.update`."""
    reports = {
      name: part.report(_told(guidance, name), labels)
      for name, part in self._parts.items()
    }
    return {
      name: each for name, each in reports.items() if tf.nest.flatten(each)
    }

  def build_guidance(
    self, classifier: functional.ImageClassifier
  ) -> guidance_lib.Guidance | None:
    """Builds the states of the parts that have one."""
    parts = self._parts.items()
    return guidance_lib.combine(
      {name: part.build_guidance(classifier) for name, part in parts}
    )

  @property
  def allows_padding(self) -> bool:
    """True if padding changes nothing in it, nor in any of its parts."""
    return super().allows_padding and all(
      part.allows_padding for part in self._parts.values()
    )

  @property
  def _parts(self) -> dict[str, client_parts.ClientPart]:
    """The parts by name."""
    return {
      name: value
      for name, value in vars(self).items()
      if isinstance(value, client_parts.ClientPart)
    }

  @property
  def summary(self) -> str:
    """A line that describes it and each part that is not SemiFL's."""
    usual = vars(Fix())
    others = (
      part
      for name, part in self._parts.items()
      if type(part) is not type(usual.get(name))
    )
    return ' '.join(map(system.summarize, [self, *others]))

  @property
  def weighs_clients(self) -> bool:
    """True if updates of clients that train may differ in weight."""
    return type(self.weighting).weigh is not client_parts.Weighting.weigh

  @property
  def measures_pseudo_labels(self) -> bool:
    """True if pseudo-labels are compared with the truth, where it is known."""
    return self.measure_pseudo_labels


@dataclasses.dataclass(frozen=True, kw_only=True)
class FixMix(Fix):
  """SemiFL's client: labels once, then trains on fix and mix losses."""

  heeds_padding = True

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
      **super().mixing,
      'mixup_concentration': self.mixup_concentration,
      'mix_loss_weight': self.mix_loss_weight,
      'soft_labels': self.soft_pseudo_labels,
      'mix_once_per_round': self.mix_once_per_round,
      'mix_before_augmentation': self.mix_before_augmentation,
    }


@dataclasses.dataclass(frozen=True, kw_only=True)
class LabelEachBatch(client_training.ClientTraining):
  """Labels each batch with the model that it trains, as FixMatch does."""

  heeds_padding = True

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
      form=ingredients.turn_form,
    )


def _wrong_result(
  name: str,
  part: client_parts.ClientPart,
  method: str,
  wanted: str,
  found: tf.Tensor,
) -> settings.SettingError:
  """Returns an error of what a method of a part returns."""
  return settings.SettingError(
    name,
    type(part).__qualname__,
    f'{method} must return {wanted}, not {found.dtype.name} {found.shape}',
  )


def _told(guidance: Any, name: str) -> Any:
  """Returns the message of a part's own state; () if it has none."""
  is_told = isinstance(guidance, Mapping) and name in guidance
  return guidance[name] if is_told else ()
