# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The base of client methods: a dataclass whose fields are settings."""

import tensorflow_federated as tff

from tff_semifl import settings
from tff_semifl.core import client_method
from tff_semifl.core import client_update
from tff_semifl.core import client_work
from tff_semifl.data import pipelines
from tff_semifl.models import functional
from tff_semifl.systems import method_check
from tff_semifl.systems import system
from tff_semifl.systems import training_settings


class Method(client_method.ClientMethod, settings.Settings):
  """Base of client methods, with the hooks of `client_method.ClientMethod`."""

  def build(
    self,
    ingredients: system.Ingredients,
    optimizer: tff.learning.optimizers.Optimizer,
    epochs: training_settings.ClientEpochs,
  ) -> client_work.LocalTrainingFn:
    """Builds the local training of a client."""
    training = client_update.Training(
      model=ingredients.classifier,
      weak_augmentation=ingredients.weak_augmentation,
      strong_augmentation=ingredients.strong_augmentation,
      optimizer=optimizer,
      num_epochs=epochs.client_epochs,
      batch_size=epochs.client_batch_size,
      jit_compile=ingredients.jit_compile,
    )
    method_check.check_labels(self, training)
    if training.jit_compile:
      with settings.blame('jit_compile', True):
        method_check.check_padding(self, training)
    return client_update.build_local_training(self, training)

  @property
  def summary(self) -> str:
    """One line on the method."""
    return system.summarize(self)

  @property
  def labels_by_received_model(self) -> bool:
    """Whether images are labeled by the model that the client receives."""
    return self.relabel == 'round' and not self.labels_are_true

  @property
  def measures_pseudo_labels(self) -> bool:
    """Whether pseudo-labels are compared with true labels, where known."""
    return not self.labels_are_true

  @property
  def weighs_clients(self) -> bool:
    """Whether clients that train may have different weights."""
    return type(self).weigh is not client_method.ClientMethod.weigh

  def client_data_type(
    self, classifier: functional.ImageClassifier
  ) -> tff.SequenceType | None:
    """The type of a client's data; None for images without labels."""
    if not self.clients_have_labels:
      return None
    return pipelines.labeled_client_type(classifier.image_shape)
