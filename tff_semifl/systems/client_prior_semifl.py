# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""SemiFL with client priors: labels and losses know a client's classes (H.1).

A client estimates the shares of the classes among its images from the images
alone. It labels with them, and adds them to the logits in its losses, so that
it does not unlearn the classes that it does not have. The model that it returns
is for the server's shares of classes, as the one that it received.

References:
  Menon, Jayasumana, Rawat, Jain, Veit, Kumar. Long-tail learning via logit
  adjustment. ICLR 2021.
  Zhang, Li, Li, Xu, Wu, Ding, Wu. Federated learning with label distribution
  skew via logits calibration. ICML 2022. Its clients know their labels.
"""

import abc
from collections.abc import Mapping
import dataclasses
from typing import Any

import tensorflow as tf
import tensorflow_federated as tff

from tff_semifl import client_prior
from tff_semifl import image_sums
from tff_semifl import pseudo_labels
from tff_semifl import settings
from tff_semifl.data import folding
from tff_semifl.data import pipelines
from tff_semifl.models import functional
from tff_semifl.systems import averaging
from tff_semifl.systems import client_parts
from tff_semifl.systems import client_training
from tff_semifl.systems import composed
from tff_semifl.systems import system
from tff_semifl.systems import training_settings
from tff_semifl.work import client_report
from tff_semifl.work import client_work
from tff_semifl.work import guidance as guidance_lib
from tff_semifl.work import round_context


@dataclasses.dataclass(frozen=True, kw_only=True)
class PriorFixMix(composed.ComposedFixMix):
  """Base of SemiFL's clients that use their prior, in labels and in losses.

  With neither they are SemiFL's clients. The server sends them
  `{'server_prior': ..., 'label_prior_weight': ...}`. All parts, which names
  choose, can be combined with it, except those that adjust logits in the
  losses, too.
  """

  prior_pseudo_count: float = settings.setting(
    10.0,
    "Images with the server's shares of classes that are added to a client's"
    ' own to get its shares; with ever more of them SemiFL is left.',
    settings.ABOVE_0,
  )
  label_prior_weight: float | None = settings.setting(
    None,
    "Weight of a client's own shares of classes in those with which it labels"
    " (E-step), beside the server's; with 0 it labels as SemiFL's clients do,"
    ' and with 1 it can go wrong where labels are few (H.8). By default'
    ' n^2 / (n^2 + 4 C^2) for n labels of C classes at the server: 1/2 with two'
    ' of each class, nearly 1 with many.',
    settings.FRACTION,
  )
  train_with_prior: bool = settings.setting(
    True,
    'Whether the shares of classes of a client are an offset of the logits in'
    ' its losses (M-step).',
  )

  def __post_init__(self) -> None:
    super().__post_init__()
    adjusts = self.adjustment != client_parts.Adjustment()
    if self.train_with_prior and adjusts:
      raise settings.SettingError(
        'train_with_prior',
        True,
        f'adds to the logits in the losses what {self.adjustment} would add a'
        ' second time; choose one of them',
      )

  @abc.abstractmethod
  def find_prior(
    self, guidance: Mapping[str, tf.Tensor], logits: tf.Tensor
  ) -> tf.Tensor:
    """Returns the client's prior, float32 [classes].

    Args:
      guidance: What the client was told.
      logits: float32 [images, classes], of all its images, by the model that it
        received.
    """

  def build_guidance(
    self, classifier: functional.ImageClassifier
  ) -> guidance_lib.Guidance:
    """Builds what the server tells clients: what its labels say (H.2, H.3).

    That is their prior, and the weight of clients' own priors. What the states
    of parts tell is told, too.
    """
    parts = super().build_guidance(classifier) or guidance_lib.Guidance(
      tell=lambda *_: {}
    )

    def add_counts(counts: tf.Tensor, chunk: Mapping[str, tf.Tensor]):
      labels = tf.one_hot(chunk['label'], classifier.num_classes)
      return counts + tf.reduce_sum(labels, axis=0)

    def tell(
      state: Any,
      context: round_context.RoundContext,
      weights: functional.ModelWeights,
      server_data: tf.data.Dataset,
    ) -> dict[str, Any]:
      counts = folding.fold(
        server_data, tf.zeros([classifier.num_classes]), add_counts
      )
      return {
        **parts.tell(state, context, weights, server_data),
        'server_prior': client_prior.from_counts(counts),
        'label_prior_weight': client_prior.label_weight(counts)
        if self.label_prior_weight is None
        else tf.constant(self.label_prior_weight),
      }

    return dataclasses.replace(parts, tell=tell)

  def label(
    self, guidance: Mapping[str, tf.Tensor], logits: tf.Tensor
  ) -> pseudo_labels.PseudoLabels:
    """Returns labels of all images of a client, with its prior."""
    prior = self.find_prior(guidance, logits)
    server_prior = guidance['server_prior']
    weight = guidance['label_prior_weight']
    label_prior = weight * prior + (1 - weight) * server_prior
    logits = client_prior.adapt(logits, label_prior, server_prior)
    return super().label(guidance, logits)._replace(prior=prior)

  def logit_offset(
    self, guidance: Mapping[str, tf.Tensor], labels: pseudo_labels.PseudoLabels
  ) -> tf.Tensor | None:
    """Returns what is added to logits in the losses (H.4)."""
    if not self.train_with_prior:
      return super().logit_offset(guidance, labels)
    return client_prior.logit_offset(labels.prior, guidance['server_prior'])


@dataclasses.dataclass(frozen=True, kw_only=True)
class ClientPriorFixMix(PriorFixMix):
  """SemiFL's client with its own class prior, estimated from its images."""

  heeds_padding = True

  prior_iterations: int = settings.setting(
    3,
    'Iterations of expectation maximization in which a client estimates its'
    " shares of classes; with 1 they are the mean of the model's"
    ' probabilities. More of them believe a model that is often wrong too much'
    ' (H.8).',
    settings.AT_LEAST_1,
  )

  def find_prior(
    self, guidance: Mapping[str, tf.Tensor], logits: tf.Tensor
  ) -> tf.Tensor:
    """Returns the prior that is estimated from logits (H.3)."""
    return client_prior.estimate(
      logits,
      guidance['server_prior'],
      pseudo_count=self.prior_pseudo_count,
      iterations=self.prior_iterations,
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class TruePriorFixMix(PriorFixMix):
  """SemiFL's client with its own class prior, counted from true labels."""

  heeds_padding = True

  def find_prior(
    self, guidance: Mapping[str, tf.Tensor], logits: tf.Tensor
  ) -> tf.Tensor:
    """Returns the prior of the client's true labels, with the pseudo-count."""
    del logits  # The true labels are known.
    return guidance['true_prior']

  def build(
    self,
    ingredients: system.Ingredients,
    optimizer: tff.learning.optimizers.Optimizer,
    turn: training_settings.ClientEpochs,
  ) -> client_work.LocalTrainingFn:
    """Builds what a client does, plain TensorFlow."""
    train = super().build(ingredients, optimizer, turn)

    def train_with_true_prior(
      weights: functional.ModelWeights,
      context: round_context.RoundContext,
      data: Mapping[str, tf.Tensor],
      *others: Any,
    ) -> client_report.LocalTraining:
      with image_sums.of_first(data.get('num_images')):
        true_prior = client_prior.from_probabilities(
          tf.one_hot(data['label'], ingredients.classifier.num_classes),
          context.guidance['server_prior'],
          self.prior_pseudo_count,
        )
      guidance = {**context.guidance, 'true_prior': true_prior}
      return train(weights, context._replace(guidance=guidance), data, *others)

    return train_with_true_prior

  def client_data_type(
    self, classifier: functional.ImageClassifier
  ) -> tff.SequenceType:
    """Returns the type of a client's data: images with labels."""
    return pipelines.labeled_client_type(classifier.image_shape)


@dataclasses.dataclass(frozen=True, kw_only=True)
class TruePriorSemiFL(averaging.Alternating):
  """SemiFL with true client priors, an upper bound for estimated ones (H.6).

  Clients use no more of their labels than the count of each class.
  """

  labels = system.Labels.AT_SERVER_AND_CLIENTS

  client: client_training.ClientTraining = TruePriorFixMix()
