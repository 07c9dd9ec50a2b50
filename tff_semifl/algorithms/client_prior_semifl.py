# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""SemiFL in which each client labels and trains with its own class prior.

A client estimates its prior, the class shares of its images, without labels.
Pseudo-labels are adapted to this prior. In losses, the client adds the log
ratio of its prior and the server's prior to logits, so that training does not
unlearn the classes that the client lacks. The trained model, like the received
model, assumes the server's prior. See `client_prior`.
"""

import abc
import dataclasses
from typing import Any

import tensorflow as tf

from tff_semifl import settings
from tff_semifl.algorithms import averaging
from tff_semifl.algorithms import client_prior
from tff_semifl.algorithms import flfl
from tff_semifl.algorithms import system
from tff_semifl.core import hook_arguments
from tff_semifl.core import method
from tff_semifl.core import pseudo_labels
from tff_semifl.label_shift import share_prior

Client = hook_arguments.ClientContext
Labels = pseudo_labels.PseudoLabels


@dataclasses.dataclass(frozen=True, kw_only=True)
class PriorFixMix(flfl.ComposedFixMix):
  """Base of SemiFL clients that use their own prior in labels and losses.

  The server's message has keys `server_prior` and `label_prior_weight`.
  """

  prior_pseudo_count: float = settings.setting(
    10.0,
    "Images with the server's class shares that the estimate of a client's"
    ' shares adds to its own images; the more, the closer to SemiFL.',
    settings.ABOVE_0,
  )
  label_prior_weight: float | None = settings.setting(
    None,
    "Weight of a client's own class shares, relative to the server's, when it"
    " labels (E-step); with 0 it labels as SemiFL's clients do, with 1 it can"
    ' go wrong where labels are few. By default n^2 / (n^2 + 4 C^2) for n'
    ' labels of C classes at the server: 1/2 with two labels per class, nearly'
    ' 1 with many.',
    settings.FRACTION,
  )
  train_with_prior: bool = settings.setting(
    True,
    'Whether losses of a client add its log class shares to logits (M-step).',
  )

  @abc.abstractmethod
  def find_prior(self, client: Client, logits: tf.Tensor) -> tf.Tensor:
    """The client's prior, float32 [classes], from the model's logits."""

  def tell(self, kept: Any, server: hook_arguments.Server) -> dict[str, Any]:
    del kept  # The server keeps no state.
    counts = client_prior.count_labels(server)
    return {
      'server_prior': share_prior.shares_of_counts(counts),
      'label_prior_weight': client_prior.label_weight(counts)
      if self.label_prior_weight is None
      else tf.constant(self.label_prior_weight),
    }

  def pseudo_label(self, client: Client, logits: tf.Tensor) -> Labels:
    """The pseudo-labels of a client's images, given the client's prior."""
    prior = self.find_prior(client, logits)
    server_prior = client.guidance['server_prior']
    weight = client.guidance['label_prior_weight']
    label_prior = weight * prior + (1 - weight) * server_prior
    logits = client_prior.adapt(logits, label_prior, server_prior)
    return super().pseudo_label(client, logits)._replace(prior=prior)

  def logit_offset(self, client: Client, labels: Labels) -> tf.Tensor | None:
    if not self.train_with_prior:
      return super().logit_offset(client, labels)
    return client_prior.logit_offset(
      labels.prior, client.guidance['server_prior']
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class ClientPriorFixMix(PriorFixMix):
  """SemiFL's client with its own class prior, estimated from its images."""

  prior_iterations: int = settings.setting(
    3,
    'Iterations of expectation maximization by which a client estimates its'
    " class shares; with 1 these are the mean of the model's probabilities."
    ' More iterations trust the model more, even if it is often wrong.',
    settings.AT_LEAST_1,
  )

  def find_prior(self, client: Client, logits: tf.Tensor) -> tf.Tensor:
    return client_prior.estimate(
      logits,
      client.guidance['server_prior'],
      pseudo_count=self.prior_pseudo_count,
      iterations=self.prior_iterations,
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class TruePriorFixMix(PriorFixMix):
  """SemiFL's client with its own class prior, counted from true labels."""

  clients_have_labels = True

  def find_prior(self, client: Client, logits: tf.Tensor) -> tf.Tensor:
    del logits  # The true labels are known.
    return client_prior.from_probabilities(
      tf.one_hot(client.true_labels, client.num_classes),
      client.guidance['server_prior'],
      self.prior_pseudo_count,
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class TruePriorSemiFL(averaging.Alternating):
  """SemiFL with class priors from clients' true labels, as an upper bound."""

  labels = system.Labels.AT_SERVER_AND_CLIENTS

  client: method.Method = TruePriorFixMix()


CLIENT_PRIOR_SEMIFL = averaging.Alternating(client=ClientPriorFixMix())
