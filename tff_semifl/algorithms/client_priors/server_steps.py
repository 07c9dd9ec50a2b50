# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The server's steps of `client_priors`, after each pass over all clients.

Two learners are trained in the same passes, each with all labels, and again
without each fold of the labels.

The first learner has three phases. First it fits a Gaussian mixture with one
covariance, whose posteriors estimate classes and how clients differ. Then it
trains a linear head on these posteriors. Finally the head trains on its own
posteriors. The second learner is a head that starts from the labels alone and
trains on its own posteriors in all passes.

A head that trains on its own posteriors is self-taught. Steps of its weights
increase

  sum_k log E prod_i sum_c pi_kc exp(b_c) / m_c softmax(z_i)_c
    - n sum_c m_c b_c
    + LABEL_WEIGHT sum_j log softmax(z_j)_y - head_penalty / 2 |weights|^2

with the lower bound `class_shares.bound` in place of the first term. Here z are
the head's logits of n examples i of clients k, and of labeled examples j of
class y. E is the mean over class shares pi_k ~ Dirichlet(s m). Steps of the
biases b keep the mean posterior of examples at m, and decrease the objective,
which is convex in b (iterative scaling).
"""

import tensorflow as tf

from tff_semifl.algorithms import client_prior
from tff_semifl.algorithms.client_priors import client_sums
from tff_semifl.algorithms.client_priors import components as components_lib
from tff_semifl.algorithms.client_priors import linear_classifiers
from tff_semifl.algorithms.client_priors import mixture as mixture_lib
from tff_semifl.algorithms.client_priors import server_labels
from tff_semifl.algorithms.client_priors import state
from tff_semifl.label_shift import class_shares

Components = components_lib.Components
Estimate = state.Estimate
Labels = server_labels.Labels

# The number of passes of each phase of the first learner.
MIXTURE_PASSES, WARM_PASSES, HEAD_PASSES = 4, 12, 24
PASSES = MIXTURE_PASSES + WARM_PASSES + HEAD_PASSES
# The penalty of the regression that initializes both learners.
PENALTY = 10.0
# The second learner may lead from this number of examples per weight of a head.
# With 2.4 (digits) it often labels worse, with 5 (CIFAR-10) better.
_LEAST_EXAMPLES_PER_WEIGHT = 4.0
# The lead in consensus that a replica without a fold of the labels needs.
_LEAST_LEAD = 0.01
# The penalty of heads: 1 for each 100 examples, up to a maximum.
_EXAMPLES_PER_PENALTY, _MOST_PENALTY = 100.0, 100.0
# The weight of the class shares of the labels, relative to clients' class
# shares by EM, which may collapse.
LABELS_SAY = 5.0
# The largest step of a class bias. Without this bound, biases diverge where
# clients are alike. With a bound of 0.3, the head may lose classes.
_MOST_BIAS_STEP = 0.7
# The least class share, because logarithms need positive numbers.
_LEAST_SHARE = 1e-6


def begin(estimate: Estimate, labels: Labels) -> Estimate:
  """Initializes both learners by regressions on the labels alone."""
  weights = linear_classifiers.fit(
    labels.x,
    labels.targets,
    labels.weights,
    tf.fill([server_labels.REPLICAS], tf.constant(PENALTY, tf.float64)),
  )
  heads = tf.concat([tf.zeros_like(weights), weights], axis=0)
  mixture = linear_classifiers.add_to_bias(weights, -tf.math.log(labels.shares))
  return estimate._replace(
    shares=tf.tile(labels.shares[tf.newaxis], [state.LEARNERS, 1]),
    mixture=estimate.mixture._replace(weights=mixture),
    head=heads,
    point=heads,
    taught=weights,
  )


def receive(estimate: Estimate, components: Components) -> client_sums.Received:
  """The message to clients, float32."""
  own, other = _split(teachers(estimate))
  first = tf.where(_is_first_taught(estimate), own, estimate.mixture.weights)
  no_means = tf.zeros_like(estimate.mixture.means)
  received = client_sums.Received(
    center=components.center,
    basis=components.basis,
    variances=components.variances,
    teacher=tf.concat([first, other], axis=0),
    alpha=estimate.strength[:, tf.newaxis] * estimate.shares,
    means=tf.concat([estimate.mixture.means, no_means], axis=0),
    spread=tf.concat([estimate.spread, tf.zeros_like(estimate.spread)], axis=0),
    head=estimate.point,
    is_trained=_is_head_trained(estimate),
    leader=estimate.leader,
  )
  return tf.nest.map_structure(lambda each: tf.cast(each, tf.float32), received)


def teachers(estimate: Estimate) -> tf.Tensor:
  """Heads, for components, whose logits are log p(example | class)."""
  return linear_classifiers.add_to_bias(
    estimate.head, estimate.bias - tf.math.log(estimate.shares)
  )


def add(
  estimate: Estimate, means: client_sums.Means, count: tf.Tensor
) -> Estimate:
  """Adds a round's means to the averages of the current pass.

  `means` are over `count` examples; both are float64.
  """
  biases = tf.reduce_sum(estimate.shares * estimate.bias, axis=1)
  means = means._replace(objective=means.objective - biases)
  total = estimate.num_averaged + count
  share = tf.math.divide_no_nan(count, total)
  return estimate._replace(
    num_averaged=total,
    averages=tf.nest.map_structure(
      lambda old, new: (1 - share) * old + share * new, estimate.averages, means
    ),
  )


def learn(
  estimate: Estimate, components: Components, labels: Labels
) -> Estimate:
  """The estimate after a pass in which at least one client had examples."""
  learned = tf.cond(
    estimate.passes < MIXTURE_PASSES,
    lambda: _learn_mixture(estimate, components, labels),
    lambda: estimate,
  )
  learned = _learn_heads(learned, components, labels)
  learned = tf.cond(
    tf.equal(estimate.passes + 1, MIXTURE_PASSES + WARM_PASSES),
    lambda: _end_of_mixture(learned, components, labels),
    lambda: learned,
  )
  # Offsets are residuals from class means, which exist from the second pass on.
  finds_spread = (estimate.passes >= 1) & (estimate.passes <= MIXTURE_PASSES)
  learned = learned._replace(passes=learned.passes + 1)
  return learned._replace(
    leader=find_leader(learned, components),
    num_averaged=tf.zeros_like(learned.num_averaged),
    spread=tf.where(
      finds_spread,
      tf.clip_by_value(_split(estimate.averages.spread)[0], 0, 1),
      estimate.spread,
    ),
  )


def classifiers(estimate: Estimate, shares: tf.Tensor) -> tf.Tensor:
  """The weights of the mixture, and of the head.

  The head is the leader's if the second learner leads, the first learner's if
  clients are alike, else the mean of both. Only a mixture learns from clients
  that are alike.

  The weights assume class shares `shares`, float64 [classes]. The result is
  float64 [2, replicas, components + 1, classes].
  """
  first, second = _split(
    linear_classifiers.add_to_bias(
      estimate.head, tf.math.log(shares) - tf.math.log(estimate.shares)
    )
  )
  first = tf.where(_is_first_taught(estimate), first, estimate.taught)
  are_alike = estimate.averages.evidence[0] < class_shares.LEAST_EVIDENCE
  head = tf.where(are_alike, first, (first + second) / 2)
  place = tf.maximum(estimate.leader - server_labels.REPLICAS, 0)
  led = tf.concat([second[place][tf.newaxis], second[1:]], axis=0)
  head = tf.where(estimate.leader > 0, led, head)
  return tf.stack([estimate.taught, head])


def find_leader(estimate: Estimate, components: Components) -> tf.Tensor:
  """Finds the index of the learner that labels, an int32 scalar.

  With many examples, and clients that differ, the second learner improves
  beyond the first learner, which is limited by its mixture. With few examples
  the second learner learns its own mistakes.

  Its replicas may end in different solutions. Good ones label alike; bad ones
  confuse different classes. Replica 0, which is trained on all labels, leads
  unless the consensus of another is larger by more than 0.01.
  """
  averages = estimate.averages
  consensus = averages.consensus
  replica = tf.where(
    consensus[0] >= tf.reduce_max(consensus) - _LEAST_LEAD,
    0,
    tf.argmax(consensus, output_type=tf.int32),
  )
  leader = server_labels.REPLICAS + replica
  num_used = tf.math.count_nonzero(components.variances, dtype=tf.float64)
  num_weights = num_used * averages.posteriors.shape[-1]
  second_leads = (
    _is_first_taught(estimate)
    & (components.count >= _LEAST_EXAMPLES_PER_WEIGHT * num_weights)
    & (averages.evidence[0] >= class_shares.LEAST_EVIDENCE)
    & (averages.objective[leader] > averages.objective[0])
  )
  return tf.where(second_leads, leader, 0)


def _split(values: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
  return values[: server_labels.REPLICAS], values[server_labels.REPLICAS :]


def _is_first_taught(estimate: Estimate) -> tf.Tensor:
  """Whether the first head trains on its own posteriors, a bool scalar."""
  return estimate.passes >= MIXTURE_PASSES + WARM_PASSES


def _is_head_trained(estimate: Estimate) -> tf.Tensor:
  """Whether each head is trained in this pass, bool [learners]."""
  return _repeat(estimate.passes >= MIXTURE_PASSES, True)


def _repeat(first: tf.Tensor, second: tf.Tensor | bool) -> tf.Tensor:
  """Repeats two scalars, one per learner, for all replicas: [learners]."""
  return tf.repeat(tf.stack([first, second]), server_labels.REPLICAS)


def _learn_mixture(
  estimate: Estimate, components: Components, labels: Labels
) -> Estimate:
  """Takes the M-step of the mixtures."""
  averages, count = estimate.averages, components.count
  posteriors = _split(averages.posteriors)[0]
  shares = (posteriors + LABELS_SAY * labels.shares) / (1 + LABELS_SAY)
  shares /= tf.reduce_sum(shares, axis=1, keepdims=True)
  mixture = mixture_lib.fit(
    labels,
    count * posteriors,
    count * _split(averages.matrix)[0][:, :-1],
    count * components.variances,
  )
  log_shares = tf.math.log(labels.shares)
  taught = linear_classifiers.add_to_bias(mixture.weights, log_shares)
  strength = client_prior.strength(_split(averages.log_shares)[0], shares)
  return estimate._replace(
    shares=tf.concat([shares, _split(estimate.shares)[1]], axis=0),
    strength=tf.concat([strength, _split(estimate.strength)[1]], axis=0),
    mixture=mixture,
    taught=taught,
  )


def _learn_heads(
  estimate: Estimate, components: Components, labels: Labels
) -> Estimate:
  """Takes a step of the heads, and of the biases of self-taught heads."""
  averages = estimate.averages
  is_trained = _is_head_trained(estimate)
  is_taught = _repeat(_is_first_taught(estimate), True)
  strength = client_prior.strength(averages.log_shares, estimate.shares)
  bias = step_bias(estimate.bias, estimate.shares, averages.posteriors)
  stepped = step_head(estimate.point, averages.matrix, components, labels)
  momentum, ratio = linear_classifiers.next_momentum(estimate.momentum)
  # Momentum suits a fixed loss, but the loss of a self-taught head changes.
  ratio = tf.where(is_taught, tf.zeros_like(ratio), ratio)
  point = stepped + ratio[:, tf.newaxis, tf.newaxis] * (stepped - estimate.head)

  def choose(condition: tf.Tensor, new: tf.Tensor, old: tf.Tensor):
    shape = [-1] + [1] * (len(new.shape) - 1)
    return tf.where(tf.reshape(condition, shape), new, old)

  return estimate._replace(
    strength=choose(is_taught, strength, estimate.strength),
    bias=choose(is_taught, bias, estimate.bias),
    head=choose(is_trained, stepped, estimate.head),
    point=choose(is_trained, point, estimate.point),
    momentum=tf.where(is_trained[0], momentum, estimate.momentum),
  )


def step_head(
  point: tf.Tensor, matrix: tf.Tensor, components: Components, labels: Labels
) -> tf.Tensor:
  """The heads after a step from `point`, with Boehning's bound on the Hessian.

  `matrix` is `client_sums.Means.matrix` for the heads `point`.
  """
  count = components.count
  padded = linear_classifiers.with_ones(labels.x)
  weights = mixture_lib.LABEL_WEIGHT * labels.weights
  penalties = tf.fill([server_labels.REPLICAS], head_penalty(count))
  second = tf.linalg.diag(
    count * tf.concat([components.variances, [1.0]], axis=0)
  ) + linear_classifiers.second_moments(padded, weights)
  # The bound is the same for both learners.
  inverse = linear_classifiers.inverse_of_bound(second, penalties)
  ascent = (
    count * matrix
    + linear_classifiers.gradient(padded, labels.targets, _both(weights), point)
    - linear_classifiers.penalty_gradient(point, _both(penalties))
  )
  return point + _both(inverse) @ ascent


def head_penalty(count: tf.Tensor) -> tf.Tensor:
  """The penalty of heads that train on `count` examples of clients."""
  return tf.clip_by_value(count / _EXAMPLES_PER_PENALTY, PENALTY, _MOST_PENALTY)


def step_bias(
  bias: tf.Tensor, shares: tf.Tensor, posteriors: tf.Tensor
) -> tf.Tensor:
  """Takes a step of class biases that moves mean posteriors to `shares`."""
  # Aggregation with compression may return a negative mean.
  step = tf.math.log(shares / tf.maximum(posteriors, _LEAST_SHARE))
  return bias + tf.clip_by_value(step, -_MOST_BIAS_STEP, _MOST_BIAS_STEP)


def _both(values: tf.Tensor) -> tf.Tensor:
  """Repeats the values of one learner's replicas for both learners."""
  return tf.concat([values, values], axis=0)


def _end_of_mixture(
  estimate: Estimate, components: Components, labels: Labels
) -> Estimate:
  """Stores the heads trained on the mixture's posteriors in `taught`."""
  head, _ = _split(estimate.head)
  count = components.count
  weights = mixture_lib.LABEL_WEIGHT * labels.weights
  # The class shares of the heads' training targets.
  taught = (
    weights @ labels.targets + count * _split(estimate.averages.posteriors)[0]
  )
  taught = tf.maximum(
    taught / tf.reduce_sum(taught, axis=1, keepdims=True), _LEAST_SHARE
  )
  return estimate._replace(
    taught=linear_classifiers.add_to_bias(
      head, tf.math.log(labels.shares) - tf.math.log(taught)
    ),
    point=estimate.head,
  )
