# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Published methods for unlabeled examples of clients, in NumPy.

Each method takes a `Problem` and settings, and estimates the class posteriors
of all clients' examples. Most methods alternate between posteriors and a
classifier trained on them, `rounds` times; with 0 rounds, the classifier is the
regression on the labels alone. Few-shot methods have no classifier for test
images; a classifier is then trained on the method's final posteriors.

`docs/algorithms/client_priors_on_features.md` has the references.
"""

from collections.abc import Callable, Mapping
import functools
import itertools
from typing import Any, NamedTuple

import numpy as np
from scipy import optimize
from scipy import special

# The weight of a labeled example, as in `client_priors`.
_LABEL_WEIGHT = 3.0
# The number of iterations of all rounds together.
_HEAD_ITERATIONS = 50
_EM_ITERATIONS = 30
_FEW_SHOT_ITERATIONS = 20
_LEAST = 1e-12


class Problem(NamedTuple):
  """Labeled examples of a server, and unlabeled examples of clients.

  The examples of a client are consecutive. Features are float32 principal
  components. Logits are from the regression on the labels alone.
  """

  x: np.ndarray  # [labels, components]
  targets: np.ndarray  # [labels, classes], one-hot.
  unlabeled: np.ndarray  # [examples, components]
  owner: np.ndarray  # int [examples], the client.
  classes: np.ndarray  # int [examples], the true classes.
  test: np.ndarray  # [tests, components]
  test_classes: np.ndarray  # int [tests]
  logits: np.ndarray  # [examples, classes]
  label_logits: np.ndarray  # [labels, classes]
  test_logits: np.ndarray  # [tests, classes]
  penalty: float  # The penalty of classifiers of all examples.

  @property
  def prior(self) -> np.ndarray:
    """The class shares of the labels, [classes]."""
    return self.targets.mean(axis=0)

  @property
  def sizes(self) -> np.ndarray:
    """The number of examples of each client, [clients, 1]."""
    return np.bincount(self.owner)[:, np.newaxis]

  def add_up(self, values: np.ndarray) -> np.ndarray:
    """The sum of the examples' values for each client, [clients, ...]."""
    starts = np.searchsorted(self.owner, np.arange(self.owner[-1] + 1))
    return np.add.reduceat(values, starts, axis=0)

  def split(self, values: np.ndarray) -> list[np.ndarray]:
    """The values of each client's examples, as a list."""
    return np.split(values, np.cumsum(self.sizes)[:-1])


class Found(NamedTuple):
  """The result of a method: scores, whose maximum is the predicted class."""

  own: np.ndarray  # [examples, classes]
  test: np.ndarray  # [tests, classes]


_Respond = Callable[[np.ndarray], np.ndarray]


def fit_head(
  problem: Problem,
  posteriors: np.ndarray,
  start: np.ndarray | None,
  iterations: int,
) -> np.ndarray:
  """Fits a multinomial regression to labels and posteriors.

  Returns weights [components + 1, classes], whose logits are log p(x | class)
  up to a constant for each example: the class shares of the targets are divided
  out.
  """
  x = _with_ones(np.concatenate([problem.x, problem.unlabeled]))
  targets = np.concatenate([problem.targets, posteriors]).astype(np.float32)
  weights = targets.sum(axis=1)
  weights[: len(problem.x)] = _LABEL_WEIGHT
  shape = x.shape[1], targets.shape[1]
  targets *= weights[:, np.newaxis] / np.maximum(
    targets.sum(axis=1, keepdims=True), _LEAST
  )

  def loss(flat: np.ndarray) -> tuple[float, np.ndarray]:
    found = flat.reshape(shape)
    logarithms = special.log_softmax(x @ found.astype(np.float32), axis=1)
    error = weights[:, np.newaxis] * np.exp(logarithms) - targets
    gradient = (x.T @ error).astype(np.float64)
    gradient[:-1] += problem.penalty * found[:-1]
    value = problem.penalty / 2 * np.sum(found[:-1] ** 2)
    return value - np.sum(targets * logarithms), gradient.ravel()

  found = optimize.minimize(
    loss,
    np.zeros(shape).ravel() if start is None else start.ravel(),
    jac=True,
    method='L-BFGS-B',
    options={'maxiter': iterations},
  ).x.reshape(shape)
  found[-1] -= np.log(np.maximum(targets.sum(axis=0), 1))
  return found


def _with_ones(x: np.ndarray) -> np.ndarray:
  return np.hstack([x, np.ones((len(x), 1), x.dtype)])


def _alternate(
  problem: Problem, respond: _Respond, rounds: int, temperature: float = 1
) -> Found:
  """Alternates between posteriors and a classifier of all examples.

  `respond` maps logits, which assume the labels' class shares, to posteriors.
  """
  logits, test = problem.logits / temperature, problem.test_logits
  head, prior = None, np.log(problem.prior)
  for _ in range(rounds):
    iterations = _HEAD_ITERATIONS // rounds
    head = fit_head(problem, respond(logits), head, iterations)
    logits, test = (
      _with_ones(x) @ head + prior for x in (problem.unlabeled, problem.test)
    )
  return Found(respond(logits), test)


def shift_priors(
  problem: Problem,
  logits: np.ndarray,
  weight: float = 1,
  strength: float = 0,
  biases: bool = False,
) -> np.ndarray:
  """Posteriors with class shares of each client, by EM (Saerens et al., 2002).

  `logits` are for unlabeled examples, under the class shares of the labels.
  With a `weight` below 1 this is MAPLS (Ye et al., 2024): class shares are
  mixed with uniform shares of weight 1 - `weight`. A prior adds `strength`
  examples with the labels' class shares to each client. With `biases`, a bias
  per class keeps the mean of all posteriors at the labels' class shares.
  """
  prior, sizes = problem.prior, problem.sizes
  bias = -np.log(prior)
  shares = np.tile(prior, (len(sizes), 1))

  def respond() -> np.ndarray:
    log_shares = np.log(shares + _LEAST).astype(logits.dtype)
    return special.softmax(logits + (bias + log_shares)[problem.owner], axis=1)

  for _ in range(_EM_ITERATIONS):
    found = respond()
    shares = (problem.add_up(found) + strength * prior) / (sizes + strength)
    shares = weight * shares + (1 - weight) / len(prior)
    if biases:
      bias = bias + 0.5 * np.log(prior / (found.mean(axis=0) + 1e-9))
  return respond()


def em(
  problem: Problem, rounds: int, temperature: float, **prior: Any
) -> Found:
  """Estimates class shares of clients by EM; `prior` as for `shift_priors`."""
  respond = functools.partial(shift_priors, problem, **prior)
  return _alternate(problem, respond, rounds, temperature)


def true_shares(problem: Problem, rounds: int, temperature: float) -> Found:
  """Posteriors with each client's true class shares, which no client knows."""
  counts = problem.add_up(np.eye(len(problem.prior))[problem.classes])
  shares = counts / problem.sizes
  offset = np.log(shares + _LEAST)[problem.owner] - np.log(problem.prior)
  return _alternate(
    problem,
    lambda logits: special.softmax(logits + offset, axis=1),
    rounds,
    temperature,
  )


def labels_alone(problem: Problem) -> Found:
  """The regression on the labels alone."""
  return Found(problem.logits, problem.test_logits)


def self_training(problem: Problem, rounds: int, threshold: float) -> Found:
  """Pseudo-labels (Lee, 2013) of examples above a confidence threshold."""

  def respond(logits: np.ndarray) -> np.ndarray:
    found = special.softmax(logits, axis=1)
    is_largest = found == found.max(axis=1, keepdims=True)
    # The weight of an example below the threshold is nearly zero.
    return is_largest * (found >= threshold) + 1e-6 * found

  return _alternate(problem, respond, rounds)


def mixture(problem: Problem, iterations: int, weight: float) -> Found:
  """A Gaussian mixture, fitted to the examples of all clients together by EM.

  All classes share one covariance, shrunk as in `client_priors`. Class shares
  are those of the labels. `weight` is the weight of an unlabeled example
  (Nigam et al., 2000).
  """
  x = np.concatenate([problem.x, problem.unlabeled]).astype(np.float64)
  weights = np.full(len(x), weight)
  weights[: len(problem.x)] = 1
  total = (x.T * weights) @ x
  posteriors = special.softmax(problem.logits, axis=1)
  for _ in range(iterations):
    targets = np.concatenate([problem.targets, posteriors])
    weighted = weights[:, np.newaxis] * targets
    counts = weighted.sum(axis=0)
    means = weighted.T @ x / counts[:, np.newaxis]
    covariance = (total - (means.T * counts) @ means) / weights.sum()
    isotropic = np.trace(covariance) / len(covariance)
    covariance = 0.95 * covariance + 0.05 * isotropic * np.eye(len(covariance))
    kernel = np.linalg.solve(covariance, means.T)
    bias = np.log(problem.prior) - 0.5 * np.sum(means.T * kernel, axis=0)
    posteriors = special.softmax(problem.unlabeled @ kernel + bias, axis=1)
  return Found(posteriors, problem.test @ kernel + bias)


def paddle(problem: Problem, scale: float, complexity: float) -> Found:
  """PADDLE (Martin et al., 2022) at each client.

  Half the squared distances are multiplied by `scale`. `complexity` is the
  weight of the partition complexity, lambda / |Q| in the paper.
  """
  targets, posteriors = problem.targets, []
  counts = targets.sum(axis=0)[:, np.newaxis]
  for query in problem.split(problem.unlabeled):
    means, dual = targets.T @ problem.x / counts, np.zeros(len(counts))
    for _ in range(_FEW_SHOT_ITERATIONS):
      half_distances = np.sum(means**2, axis=1) / 2 - query @ means.T
      found = special.softmax(
        complexity * dual - scale * half_distances, axis=1
      )
      dual = np.log(found.mean(axis=0) + 1e-6) + 1
      total = found.T @ query + targets.T @ problem.x
      means = total / (found.sum(axis=0)[:, np.newaxis] + counts)
    posteriors.append(found)
  found = np.concatenate(posteriors)
  return _alternate(problem, lambda _: found, rounds=1)


def step_dirichlet(alpha: np.ndarray, mean_logarithm: np.ndarray) -> np.ndarray:
  """A majorize-minimize step of Dirichlet parameters (Martin et al., 2024).

  A step never decreases the likelihood of data with this `mean_logarithm`. Both
  arguments are [..., classes].
  """
  slope = special.digamma(alpha + 1)
  curvature = 2 * (alpha * slope - special.gammaln(alpha + 1)) / alpha**2
  linear = (
    slope
    - special.digamma(alpha.sum(axis=-1, keepdims=True))
    - curvature * alpha
    - mean_logarithm
  )
  return (np.sqrt(linear**2 + 4 * curvature) - linear) / (2 * curvature)


def em_dirichlet(
  problem: Problem, temperature: float, complexity: float
) -> Found:
  """EM-Dirichlet (Martin et al., 2024) at each client, on probabilities."""
  logits = problem.logits / temperature
  logarithms = np.maximum(special.log_softmax(logits, axis=1), -30)
  found = np.exp(logarithms)
  of_labels = problem.targets.T @ np.maximum(
    special.log_softmax(problem.label_logits / temperature, axis=1), -30
  )
  counts = problem.targets.sum(axis=0)
  alpha = np.ones((len(problem.sizes), *of_labels.shape))
  for _ in range(_FEW_SHOT_ITERATIONS):
    own = problem.add_up(found[:, :, np.newaxis] * logarithms[:, np.newaxis])
    total = problem.add_up(found)
    mean = (own + of_labels) / (total + counts)[:, :, np.newaxis]
    for _ in range(_FEW_SHOT_ITERATIONS):
      alpha = step_dirichlet(alpha, mean)
    constant = (
      special.gammaln(alpha.sum(axis=-1))
      - special.gammaln(alpha).sum(axis=-1)
      + complexity * np.log(total / problem.sizes + 1e-15)
    )
    scores = np.einsum('nd,ncd->nc', logarithms, (alpha - 1)[problem.owner])
    found = special.softmax(scores + constant[problem.owner], axis=1)
  return _alternate(problem, lambda _: found, rounds=1)


def _normalize(x: np.ndarray) -> np.ndarray:
  return x / np.linalg.norm(x, axis=1, keepdims=True)


def laplacian_shot(problem: Problem, weight: float, rectifies: bool) -> Found:
  """LaplacianShot (Ziko et al., 2020) at each client, with three neighbors."""
  x, targets = _normalize(problem.x), problem.targets
  posteriors = []
  for query in problem.split(_normalize(problem.unlabeled)):
    prototypes = _normalize(targets.T @ x)
    if rectifies:
      query += x.mean(axis=0) - query.mean(axis=0)
      everything = np.concatenate([x, query])
      cosine = _normalize(everything) @ prototypes.T
      is_member = cosine == cosine.max(axis=1, keepdims=True)
      is_member[: len(x)] = targets
      weights = special.softmax(10 * cosine, axis=1) * is_member
      prototypes = weights.T @ everything / weights.sum(axis=0)[:, np.newaxis]
    unary = np.sum((query[:, np.newaxis] - prototypes) ** 2, axis=2)
    similarity = query @ query.T - 0.5 * np.sum(query**2, axis=1)
    np.fill_diagonal(similarity, -np.inf)
    affinity = np.zeros_like(similarity)
    nearest = np.argsort(-similarity, axis=1)[:, : min(3, len(query) - 1)]
    np.put_along_axis(affinity, nearest, 1, axis=1)
    found = special.softmax(-unary, axis=1)
    for _ in range(_FEW_SHOT_ITERATIONS):
      found = special.softmax(weight * affinity @ found - unary, axis=1)
    posteriors.append(found)
  found = np.concatenate(posteriors)
  return _alternate(problem, lambda _: found, rounds=1)


class Method(NamedTuple):
  """A method, and the settings from which tuning chooses."""

  run: Callable[..., Found]
  settings: list[dict[str, Any]]


def _choose(run: Callable[..., Found], **grid: tuple[Any, ...]) -> Method:
  """A method with all combinations of the values of its settings."""
  combinations = itertools.product(*grid.values())
  return Method(
    run, [dict(zip(grid, each, strict=True)) for each in combinations]
  )


# This method uses true class shares, which no client knows.
UPPER_BOUND = 'true_shares'
_TEMPERATURES = (0.1, 0.25, 0.6, 1.5)
_often = functools.partial(_choose, rounds=(5,), temperature=_TEMPERATURES)
METHODS: Mapping[str, Method] = {
  'labels_alone': _choose(labels_alone),
  'em': _choose(em, rounds=(0, 1, 5), temperature=_TEMPERATURES),
  UPPER_BOUND: _often(true_shares),
  'mapls': _often(em, weight=(0.3, 0.6, 0.9)),
  'strength1': _often(em, strength=(1,), biases=(False, True)),
  'strength100': _often(em, strength=(100,), biases=(False, True)),
  'self_training': _choose(
    self_training, rounds=(1, 5), threshold=(0.3, 0.5, 0.7, 0.9)
  ),
  'mixture': _choose(mixture, iterations=(2, 5, 20), weight=(0.1, 1.0)),
  'laplacian_shot': _choose(
    laplacian_shot, weight=(1.0, 3.0, 10.0), rectifies=(False, True)
  ),
  'paddle': _choose(
    paddle, scale=(0.3, 3.0, 30.0), complexity=(1.0, 5.0, 20.0, 80.0)
  ),
  'em_dirichlet': _choose(
    em_dirichlet, temperature=(1.0, 4.0, 16.0), complexity=(1.0, 3.0)
  ),
}
