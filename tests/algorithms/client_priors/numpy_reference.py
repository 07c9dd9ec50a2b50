# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""`client_priors` in NumPy, for tests.

The first dimension R has replicas: one with all labels, and one without each
fold. The two learners are two calls of the same functions. Clients have equally
many examples.
"""

import numpy as np
from scipy import special

MIXTURE, WARM, HEAD = 4, 12, 24  # Passes of the three phases.
LABEL_WEIGHT, PENALTY = 3.0, 10.0
FOLDS = 5


def ones(x):
  return np.concatenate([x, np.ones((*x.shape[:-1], 1))], axis=-1)


def fold_of(labels):
  """The fold of each label: folds are assigned in turn, class by class."""
  fold = np.zeros(len(labels), int)
  counts = np.bincount(labels)
  start = 0
  for label, count in enumerate(counts):
    fold[labels == label] = (start + np.arange(count)) % FOLDS
    start += count
  fold[counts[labels] == 1] = -1
  return fold


def replicate(labels):
  """Weights of labels, [R, labels]; held-out labels have weight 0."""
  fold = fold_of(labels)
  weights = [np.ones(len(labels))]
  for held_out in range(FOLDS):
    kept = (fold != held_out).astype(float)
    for label in np.unique(labels):
      is_label = labels == label
      kept[is_label] *= is_label.sum() / kept[is_label].sum()
    weights.append(kept)
  return np.stack(weights)


def regress(x, one_hot, weights, penalty):
  """Fits one regression by Nesterov's method with Boehning's bound."""
  padded = ones(x)
  second = padded.T @ (weights[:, None] * padded)
  found = point = np.zeros((padded.shape[1], one_hot.shape[1]))
  momentum = 1.0
  for _ in range(300):
    errors = one_hot - special.softmax(padded @ point, axis=1)
    new = point + ascend(
      second, penalty, padded.T @ (weights[:, None] * errors), point
    )
    next_momentum = 0.5 + np.sqrt(0.25 + momentum**2)
    point = new + (momentum - 1) / next_momentum * (new - found)
    found, momentum = new, next_momentum
  return found


def ascend(second, penalty, gradient, point):
  """A step by the inverse of the bound, along the penalized gradient."""
  diagonal = np.full(len(second), penalty)
  diagonal[-1] = 1e-6
  penalized = penalty * point
  penalized[-1] = 0
  return np.linalg.solve(0.5 * second + np.diag(diagonal), gradient - penalized)


def find_basis(clients, size, standardizes):
  """Principal components: center, basis and variances."""
  pooled = np.concatenate(clients)
  mean = pooled.mean(axis=0)
  deviation = pooled.std(axis=0) if standardizes else np.ones(pooled.shape[1])
  covariance = np.cov((pooled / deviation).T, bias=True)
  values, vectors = np.linalg.eigh(covariance)
  values, vectors = values[::-1][:size], vectors[:, ::-1][:, :size]
  scale = values.mean()
  return mean, vectors / deviation[:, None] / np.sqrt(scale), values / scale


def expect_log(parameters):
  return special.digamma(parameters) - special.digamma(
    parameters.sum(axis=-1, keepdims=True)
  )


def estimate_prior(logits, server_prior, pseudo_count, iterations):
  """EM of Saerens et al. with a Dirichlet prior, with float64 probabilities."""
  prior = server_prior
  for _ in range(iterations):
    joint = np.exp(logits) * prior / server_prior
    posterior = joint / joint.sum(axis=1, keepdims=True)
    prior = posterior.sum(axis=0) + pseudo_count * server_prior
    prior /= len(logits) + pseudo_count
  return prior


def client_shares(logits, alpha, explain=None):
  """A client's posteriors, expected log shares, and shift of the logits.

  `explain` maps the mean of the posteriors to the shift.
  """
  parameters = alpha * (1 + len(logits) / alpha.sum())
  shift = 0.0
  for _ in range(6):
    posteriors = special.softmax(
      logits - shift + expect_log(parameters), axis=1
    )
    parameters = alpha + posteriors.sum(axis=0)
    if explain is not None:
      shift = explain(posteriors.mean(axis=0))
  return posteriors, expect_log(parameters), shift


def client_offset(x, teacher, alpha, means=None, spread=0.0):
  """A client's posteriors, expected log shares and offset, for one replica."""
  if means is None:
    found = client_shares(ones(x) @ teacher, alpha)
    return found[0], found[1], np.zeros(x.shape[1])
  kappa = len(x) * spread / (1 + len(x) * spread)

  def offset(mean):
    return kappa * (x.mean(axis=0) - means @ mean)

  posteriors, log_shares, _ = client_shares(
    ones(x) @ teacher, alpha, lambda mean: offset(mean) @ teacher[:-1]
  )
  return posteriors, log_shares, offset(posteriors.mean(axis=0))


def find_strength(mean_log, shares):
  """The strength with the highest likelihood on a fine grid."""
  grid = np.exp(np.linspace(np.log(0.1), np.log(1000), 400_001))
  likelihood = special.gammaln(grid) + grid * (shares @ mean_log)
  for share in shares:
    likelihood -= special.gammaln(grid * share)
  return grid[likelihood.argmax()]


def find_mixture(x, one_hot, weights, posteriors, products, variances):
  """The M-step of one replica, from sums over clients' examples."""
  weights = LABEL_WEIGHT * weights
  counts = posteriors + weights @ one_hot
  means = (products + x.T @ (weights[:, None] * one_hot)) / counts
  total = np.diag(variances) + x.T @ (weights[:, None] * x)
  within = (total - (means * counts) @ means.T) / counts.sum()
  size = len(variances)
  within = 0.95 * within + 0.05 * np.trace(within) / size * np.eye(size)
  values, vectors = np.linalg.eigh(within)
  kernel = (vectors / np.maximum(values, 1e-3)) @ vectors.T @ means
  bias = -0.5 * np.sum(means * kernel, axis=0)
  return np.concatenate([kernel, bias[None]]), means, within


def add_bias(weights, bias):
  return np.concatenate([weights[:-1], weights[-1:] + bias])


def run_replica(x, one_hot, weights, clients, variances):
  """Mixture, both heads, the spread, the second strength, and the agreement."""
  count, num_clients = sum(map(len, clients)), len(clients)
  shares = one_hot.sum(axis=0) / len(one_hot)
  start = regress(x, one_hot, weights, PENALTY)
  head_penalty = np.clip(count / 100, PENALTY, 100)
  mixture, means = add_bias(start, -np.log(shares)), np.zeros_like(start[:-1])
  population, strength, spread = shares, float(len(shares)), 0.0
  padded = ones(x)
  second = np.diag(
    count * np.append(variances, 1)
  ) + LABEL_WEIGHT * padded.T @ (weights[:, None] * padded)

  def measure_spread(found):
    scale = 1 / (variances + 0.1)
    total = 0.0
    for client, (posteriors, *_) in zip(clients, found, strict=True):
      residual = client.mean(axis=0) - means @ posteriors.mean(axis=0)
      total += residual**2 @ scale / (scale @ variances) - 1 / len(client)
    return np.clip(total / num_clients, 0, 1)

  def ask():
    return [
      client_offset(client, mixture, strength * population, means, spread)
      for client in clients
    ]

  for step in range(MIXTURE):
    found = ask()
    new_spread = measure_spread(found) if step else 0.0
    posteriors = sum(p.sum(axis=0) for p, *_ in found)
    products = sum(
      (client - offset).T @ p
      for client, (p, _, offset) in zip(clients, found, strict=True)
    )
    population = (posteriors / count + 5 * shares) / 6
    strength = find_strength(np.mean([e for _, e, _ in found], 0), population)
    mixture, means, _ = find_mixture(
      x, one_hot, weights, posteriors, products, count * variances
    )
    spread = new_spread

  def step_head(point, found):
    total = np.zeros_like(point)
    for client, (posteriors, _, offset) in zip(clients, found, strict=True):
      moved = ones(client - offset)
      total += moved.T @ (posteriors - special.softmax(moved @ point, axis=1))
    errors = one_hot - special.softmax(padded @ point, axis=1)
    total += LABEL_WEIGHT * padded.T @ (weights[:, None] * errors)
    return point + ascend(second, head_penalty, total, point)

  head = point = np.zeros_like(start)
  momentum = 1.0
  for step in range(WARM):
    found = ask()
    if step == 0:
      new_spread = measure_spread(found)
    new = step_head(point, found)
    next_momentum = 0.5 + np.sqrt(0.25 + momentum**2)
    point = new + (momentum - 1) / next_momentum * (new - head)
    head, momentum = new, next_momentum
    spread = new_spread
  taught = LABEL_WEIGHT * weights @ one_hot + sum(
    p.sum(axis=0) for p, *_ in found
  )
  classifier = add_bias(head, np.log(shares) - np.log(taught / taught.sum()))

  def teach_itself(head, population, strength, passes, means, spread):
    bias = np.zeros(len(shares))
    for _ in range(passes):
      teacher = add_bias(head, bias - np.log(population))
      found = [
        client_offset(client, teacher, strength * population, means, spread)
        for client in clients
      ]
      mean = sum(p.sum(axis=0) for p, *_ in found) / count
      strength = find_strength(
        np.mean([e for _, e, _ in found], axis=0), population
      )
      bias = bias + np.clip(np.log(population / mean), -0.7, 0.7)
      head = step_head(head, found)
    labels = np.concatenate([p.argmax(axis=1) for p, *_ in found])
    return add_bias(head, np.log(shares) - np.log(population)), strength, labels

  with_head, _, labels = teach_itself(
    head, population, strength, HEAD, means, spread
  )
  alone, strength, other = teach_itself(
    start, shares, float(len(shares)), MIXTURE + WARM + HEAD, None, 0.0
  )
  classifiers = [classifier, (with_head + alone) / 2, alone]
  return classifiers, spread, strength, np.mean(labels == other)
