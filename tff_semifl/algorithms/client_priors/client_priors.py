# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Client priors on features: a linear classifier by empirical Bayes."""

from collections.abc import Callable, Iterator, Mapping, Sequence
import dataclasses
import math
import types

import tensorflow as tf

from tff_semifl import settings
from tff_semifl.algorithms import system
from tff_semifl.algorithms.client_priors import choice
from tff_semifl.algorithms.client_priors import held_out
from tff_semifl.algorithms.client_priors import labels_alone
from tff_semifl.algorithms.client_priors import linear_head
from tff_semifl.algorithms.client_priors import process
from tff_semifl.algorithms.client_priors import result_in_words
from tff_semifl.algorithms.client_priors import server_steps
from tff_semifl.algorithms.client_priors import state
from tff_semifl.core import federated_process
from tff_semifl.label_shift import class_shares
from tff_semifl.privacy import aggregator_settings


@dataclasses.dataclass(frozen=True, kw_only=True)
class ClientPriors(system.System):
  """A linear classifier of features that estimates clients' class shares.

  Round 0 is a regression of the labels alone. Sums over clients' examples then
  train a mixture and two heads, and held-out labels decide what is exported.
  There is no differential privacy.
  """

  uses_strong_views = False
  chooses_statistics = False
  measures_pseudo_labels = True
  estimates_class_shares = True
  cohorts_are_passes = True
  models = ('linear',)
  usual = types.MappingProxyType({'model': 'linear'})

  clients_per_round: int | None = settings.setting(
    None,
    'Clients of a round, which are all by default. With fewer, all take part'
    ' one cohort after the other before a step, and more rounds are needed.',
    settings.AT_LEAST_1,
  )
  client_dropout_probability: float = settings.setting(
    0.0,
    'How often a client that was chosen for a round is not heard of again in'
    ' it.',
    settings.BELOW_1,
  )
  total_rounds: int = settings.setting(
    server_steps.PASSES,
    f'Rounds. All clients have to take part {server_steps.PASSES} times, so'
    ' that a tenth of them in each round needs ten times as many.',
    settings.AT_LEAST_1,
  )
  keep: str = settings.setting(
    choice.CHOSEN,
    'The classifier to export: chosen by held-out labels, or the one named.',
    settings.one_of(choice.CHOSEN, *held_out.CANDIDATES),
  )
  aggregator: aggregator_settings.Aggregator = (
    aggregator_settings.choose_without_privacy(
      f'clients send sums for {state.LEARNERS} models in each of'
      f' {server_steps.PASSES} rounds, and what noise would leave of these was'
      ' not measured; choose another method'
    )
  )

  def build(
    self, ingredients: system.Ingredients
  ) -> federated_process.FederatedProcess:
    """Builds the process."""
    return process.build(
      ingredients.classifier,
      self.aggregator.build(self.clients_per_round, ingredients.privacy_key),
      returns_given_labels=ingredients.returns_given_labels,
      clients_per_round=self.clients_per_round,
      keep=self.keep,
    )

  def check_num_clients(self, num_clients: int) -> None:
    """Checks that rounds are enough for all clients to take part."""
    if self.clients_per_round is None:
      return
    if self.clients_per_round > num_clients:
      raise settings.SettingError(
        'clients_per_round',
        self.clients_per_round,
        f'there are {num_clients} clients',
      )
    needed = server_steps.PASSES * math.ceil(
      num_clients / self.clients_per_round
    )
    if self.total_rounds < needed:
      raise settings.SettingError(
        'total_rounds',
        self.total_rounds,
        f'with {self.clients_per_round} of {num_clients} clients a round,'
        f' choose {needed}',
      )

  def count_steps(
    self, num_labeled: int, client_sizes: Sequence[int]
  ) -> system.Steps:
    """The number of steps in a round: the server takes one, clients none."""
    del num_labeled, client_sizes
    return system.Steps(1, 0)

  def create_share_estimate(
    self, metrics: Mapping[str, float]
  ) -> Callable[[tf.Tensor, tf.Tensor], tf.Tensor]:
    strength = tf.constant(metrics['client/own/strength'], tf.float32)

    def estimate(logits: tf.Tensor, server_prior: tf.Tensor) -> tf.Tensor:
      shares = class_shares.find(
        class_shares.read(logits - tf.math.log(server_prior)),
        strength * server_prior,
      )
      return tf.reduce_mean(shares.posteriors, axis=0)

    return estimate

  def describe_result(self, trained: system.Trained) -> Iterator[str]:
    """Yields a table of accuracies, the choice, and how much clients differ.

    Args:
      trained: The trained model, and what it is tested on.
    """
    head = linear_head.LinearHead(trained.classifier)
    x = head.flatten(tf.constant(trained.labeled.images))
    targets = tf.one_hot(
      trained.labeled.labels, head.num_classes, dtype=tf.float64
    )
    alone = labels_alone.fit(tf.cast(x, tf.float64), targets).weights[0]
    return result_in_words.describe(
      trained.find_right(head.to_weights(alone)),
      trained.find_right(trained.weights),
      trained.round_num,
      result_in_words.read(
        trained.metrics,
        has_labels=bool(held_out.can_choose(targets)),
        keep=self.keep,
      ),
    )

  @property
  def all_clients_take_part(self) -> bool:
    """Whether all clients take part in each round."""
    return self.clients_per_round is None
