# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The system `client_priors`: a linear classifier by empirical Bayes."""

from collections.abc import Iterator, Mapping, Sequence
import dataclasses
import math
import types

import numpy as np
import tensorflow as tf

from tff_semifl import settings
from tff_semifl.algorithms import system
from tff_semifl.algorithms.client_priors import choice
from tff_semifl.algorithms.client_priors import linear_classifiers
from tff_semifl.algorithms.client_priors import process
from tff_semifl.algorithms.client_priors import server_labels
from tff_semifl.algorithms.client_priors import server_steps
from tff_semifl.algorithms.client_priors import state
from tff_semifl.label_shift import class_shares
from tff_semifl.label_shift import share_prior
from tff_semifl.metrics import intervals
from tff_semifl.privacy import aggregators
from tff_semifl.privacy import means

_OWN = 'client/own/'
_NAMES = ('labels alone', 'mixture', 'head')
# A label is doubtful if another class is more likely by this factor. With 40
# correct labels, at most 15% of runs on digits, and no run on CIFAR-10's
# features, have a warning.
_WRONG = 200
# Estimated strengths have an error of at most 0.1%.
_ALIKE = 0.99 * class_shares.GREATEST_STRENGTH
# The `SharePrior.weight` if images of a class differ between clients: then a
# classifier's errors bias the estimated shares. Chosen on digits whose clients
# are writers (docs/results/site_shares).
_WEIGHT_IF_IMAGES_DIFFER = 0.25
# On digits with two classes per client and 20 labels, the head is then 1 to 2
# points worse than the labels alone; with the mean, 22 points better.
NOT_ROBUST = 'with clipped sums, the head is worse than the labels alone'


@dataclasses.dataclass(frozen=True, kw_only=True)
class ClientPriors(system.System):
  """A linear classifier of features, trained with estimated class shares.

  In round 0 the server fits a regression to its labels alone. Later it trains a
  mixture and two heads from sums over clients' examples. Held-out labels and
  class frequencies decide which is exported. There is no differential privacy.
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
    'Clients of a round, by default all. With fewer, the server takes a step'
    ' after all cohorts have taken part, which needs more rounds.',
    settings.AT_LEAST_1,
  )
  client_dropout_probability: float = settings.setting(
    0.0,
    'Probability that a client of the cohort drops out of the round.',
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
    'The classifier to export: chosen by labels and clients, or the one named.',
    settings.one_of(choice.CHOSEN, *choice.CANDIDATES),
  )
  aggregator: means.Aggregator = aggregators.choose_without(
    differential_privacy=(
      f'clients send sums for {state.LEARNERS} models in each of'
      f' {server_steps.PASSES} rounds, on which the effect of noise was not'
      ' measured; choose another method'
    ),
    robust=NOT_ROBUST,
  )

  def build(self, ingredients: system.Ingredients) -> system.Process:
    return process.build(
      ingredients.classifier,
      self.aggregator.build(),
      returns_given_labels=ingredients.returns_given_labels,
      clients_per_round=self.clients_per_round,
      keep=self.keep,
    )

  def check_num_clients(self, num_clients: int) -> None:
    if self.clients_per_round is None:
      return
    if self.clients_per_round > num_clients:
      raise self.error('clients_per_round', f'there are {num_clients} clients')
    needed = server_steps.PASSES * math.ceil(
      num_clients / self.clients_per_round
    )
    if self.total_rounds < needed:
      raise self.error(
        'total_rounds',
        f'with {self.clients_per_round} of {num_clients} clients a round,'
        f' choose {needed}',
      )

  def count_steps(
    self, num_labeled: int, client_sizes: Sequence[int]
  ) -> system.Steps:
    del num_labeled, client_sizes
    return system.Steps(1, 0)

  def find_share_prior(
    self, metrics: Mapping[str, float], mean_shares: np.ndarray
  ) -> share_prior.SharePrior | None:
    evidence, strength, spread = (
      metrics[f'{_OWN}{name}'] for name in ('evidence', 'strength', 'spread')
    )
    if math.isnan(evidence):
      return None
    prior = share_prior.create(mean_shares, strength, 1.0, evidence)
    if spread > choice.GREATEST_SPREAD:
      return prior._replace(weight=_WEIGHT_IF_IMAGES_DIFFER)
    return prior

  def describe_result(self, trained: system.Trained) -> Iterator[str]:
    """Yields lines on accuracies, the exported classifier, and the clients."""
    head = linear_classifiers.LinearHead(trained.classifier)
    x = head.flatten(tf.constant(trained.labeled.images))
    targets = tf.one_hot(
      trained.labeled.labels, head.num_classes, dtype=tf.float64
    )
    x = tf.cast(x, tf.float64)
    fitted = server_labels.fit(x, targets).weights
    own = {
      name.removeprefix(_OWN): value for name, value in trained.metrics.items()
    }
    yield from describe_gain(
      trained.find_right(head.to_weights(fitted[0])),
      trained.find_right(trained.weights),
      trained.round_num,
    )
    yield from describe_doubts(
      linear_classifiers.with_ones(x) @ fitted, targets
    )
    if math.isnan(own.get('evidence', math.nan)):
      yield 'no client took part: all is learned from the labels'
      return
    yield from describe_choice(own, self.keep)
    yield from describe_clients(own)

  @property
  def all_clients_take_part(self) -> bool:  # pyrefly: ignore[bad-override]
    return self.clients_per_round is None


def describe_gain(
  alone: np.ndarray, with_clients: np.ndarray, round_num: int
) -> Iterator[str]:
  """Yields a table of accuracies, from whether predictions are right (bool)."""
  gain = 100 * (with_clients.mean() - alone.mean())
  low, high = intervals.of_difference(alone, with_clients)
  first, last = 'labels alone (round 0)', f'exported (round {round_num})'
  width = max(len(first), len(last))
  yield f'{first:{width}}  {alone.mean():6.1%}'
  yield f'{last:{width}}  {with_clients.mean():6.1%}'
  label = 'loss' if high < 0 else 'gain'
  yield (
    f'{label:{width}}  {gain:+.1f} points (95% interval {100 * low:+.1f} to'
    f' {100 * high:+.1f}, paired)'
  )
  if high < 0:
    yield (
      'WARNING: the exported classifier is worse than the labels alone; choose'
      ' --keep=labels_alone'
    )


def describe_doubts(logits: tf.Tensor, targets: tf.Tensor) -> Iterator[str]:
  """Yields a warning if held-out predictions contradict labels.

  `logits` are [replicas, labels, classes]; `targets` are one-hot, [labels,
  classes].
  """
  fold = server_labels.assign(targets)
  held_out = tf.gather(tf.transpose(logits, [1, 0, 2]), fold + 1, batch_dims=1)
  lead = tf.reduce_max(held_out, axis=1) - tf.reduce_sum(
    targets * held_out, axis=1
  )
  num_doubtful = np.sum((lead > math.log(_WRONG)) & (fold >= 0))
  if num_doubtful:
    yield (
      f'WARNING: of {len(lead)} labels, {num_doubtful} may be wrong: without'
      f' it, another class is more than {_WRONG} times as likely;'
      ' launch.check_labels lists the most doubtful labels'
    )


def describe_choice(own: Mapping[str, float], keep: str) -> Iterator[str]:
  """Yields lines on the exported classifier, and why it was chosen.

  `own` are the metrics of the last round.
  """
  kept = _NAMES[int(own['kept'])]
  share_gap = f'{own["share_gap"]:.2f}'
  if own['held_out']:
    right = ', '.join(
      f'{name} {own[f"right_{candidate}"]:.0f}'
      for name, candidate in zip(_NAMES, choice.CANDIDATES, strict=True)
    )
    yield f'held-out labels right, of {own["held_out"]:.0f}: {right}'
  if keep != choice.CHOSEN:
    yield f'exported, as --keep says: {kept}'
    return
  if not own['has_examples']:
    reason = (
      f'clients have fewer than {choice.LEAST_EXAMPLES} examples for each'
      ' label, too few to learn from'
    )
  elif choice.images_differ(
    own['spread'], own['server_spread'], own['agreement']
  ):
    reason = (
      "clients' images differ, not only their classes (spread"
      f' {own["spread"]:.3f}, of the labeled images {own["server_spread"]:.3f};'
      f' both heads label {own["agreement"]:.0%} of examples alike)'
    )
  elif own['held_out'] < choice.LEAST_LABELS:
    reason = f'fewer than {choice.LEAST_LABELS} held-out labels make no choice'
    if own['kept']:
      yield (
        f'{reason}: the head is exported, as clients differ, but have nearly'
        f' the class frequencies of the labels (total variation {share_gap})'
      )
      return
    if own['evidence'] < class_shares.LEAST_EVIDENCE:
      reason += ', clients are alike'
    elif own['share_gap'] > choice.GREATEST_SHARE_GAP:
      reason += f', class frequencies differ (total variation {share_gap})'
    else:
      reason += ', training has not ended'
  else:
    yield f'exported, as held-out labels and class frequencies say: {kept}'
    if own['share_gap'] > choice.GREATEST_SHARE_GAP:
      yield (
        "clients' examples have other class frequencies than the labels (total"
        f' variation {share_gap}): the head was not a candidate'
      )
    return
  yield (
    f'{reason}: the labels alone are exported; --keep exports one of'
    f' {", ".join(choice.CANDIDATES[1:])}'
  )


def describe_clients(own: Mapping[str, float]) -> Iterator[str]:
  """Yields lines on how much clients differ."""
  yield (
    "with own class shares, a client's example is"
    f' {math.exp(own["evidence"]):.2f} times as likely as with shares over all'
    ' clients'
  )
  if own['evidence'] < class_shares.LEAST_EVIDENCE or own['strength'] >= _ALIKE:
    yield (
      'clients are alike, or have too few examples to show how they differ.'
      ' Unlabeled examples help less than with clients that differ; more labels'
      ' help most'
    )
