# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Published methods for unlabeled examples of clients, in NumPy.

Each method takes a `Problem` and a setting, and finds the class posteriors of
all clients' examples. Most alternate between posteriors and a classifier that
learns from them; `rounds` is how often. With 0 the classifier is that of the
labels alone. Methods for few-shot learning export no classifier: here one
learns from their posteriors, once.

References:
  Saerens, Latinne, Decaestecker. Adjusting the outputs of a classifier to new a
  priori probabilities. Neural Computation, 2002.
  Lee. Pseudo-label. ICML workshop on challenges in representation learning,
  2013.
  Nigam, McCallum, Thrun, Mitchell. Text classification from labeled and
  unlabeled documents using EM. Machine Learning, 2000.
  Ziko, Dolz, Granger, Ben Ayed. Laplacian regularized few-shot learning. ICML,
  2020.
  Martin, Boudiaf, Chouzenoux, Pesquet, Ben Ayed. Towards practical few-shot
  query sets: transductive minimum description length inference. NeurIPS, 2022.
  Ye, Tsuchida, Petersson, Barnes. Label shift estimation for class-imbalance
  problem: a Bayesian approach. WACV, 2024.
  Martin, Huang, Shakeri, Pesquet, Ben Ayed. Transductive zero-shot and few-shot
  CLIP. CVPR, 2024.
"""

from collections.abc import Callable, Mapping
import functools
import itertools
from typing import Any, NamedTuple

import numpy as np
from scipy import optimize
from scipy import special

# As of a labeled example in client priors.
_LABEL_WEIGHT = 3.0
_EM_ITERATIONS = 50
_FEW_SHOT_ITERATIONS = 20
_LEAST = 1e-12


class Problem(NamedTuple):
  """Labeled examples of a server, and unlabeled ones of clients.

  Examples of a client follow one another. Features are float32 principal
  components, logits those of the classifier of the labels alone.
  """

  x: np.ndarray  # [labels, components]
  targets: np.ndarray  # [labels, classes], one-hot.
  unlabeled: np.ndarray  # [examples, components]
  owner: np.ndarray  # int [examples], the client.
  classes: np.ndarray  # int [examples], the true ones.
  test: np.ndarray  # [tests, components]
  test_classes: np.ndarray  # int [tests]
  logits: np.ndarray  # [examples, classes]
  label_logits: np.ndarray  # [labels, classes]
  test_logits: np.ndarray  # [tests, classes]
  penalty: float  # Of classifiers of all examples.

  @property
  def prior(self) -> np.ndarray:
    """The class shares of the labels, [classes]."""
    return self.targets.mean(axis=0)

  @property
  def sizes(self) -> np.ndarray:
    """The numbers of clients' examples, [clients]."""
    return np.bincount(self.owner)

  def add_up(self, values: np.ndarray) -> np.ndarray:
    """Sums of values of examples over each client, [clients, ...]."""
    starts = np.searchsorted(self.owner, np.arange(self.owner[-1] + 1))
    return np.add.reduceat(values, starts, axis=0)

  def split(self, values: np.ndarray) -> list[np.ndarray]:
    """The values of each client's examples."""
    return np.split(values, np.cumsum(self.sizes)[:-1])


class Found(NamedTuple):
  """What a method finds, as scores whose largest is the predicted class."""

  own: np.ndarray  # [examples, classes]
  test: np.ndarray  # [tests, classes]


_Respond = Callable[[np.ndarray], np.ndarray]


def fit_head(
  problem: Problem, posteriors: np.ndarray, start: np.ndarray | None = None
) -> np.ndarray:
  """Fits a multinomial regression to labels and posteriors.

  Returns weights [components + 1, classes] for log p(x | class), up to a number
  for each example: the class shares of the targets are divided out.
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
    options={'maxiter': 20},
  ).x.reshape(shape)
  found[-1] -= np.log(np.maximum(targets.sum(axis=0), 1))
  return found


def _with_ones(x: np.ndarray) -> np.ndarray:
  return np.hstack([x, np.ones((len(x), 1), x.dtype)])


def _alternate(
  problem: Problem, respond: _Respond, rounds: int, temperature: float = 1
) -> Found:
  """Alternates between posteriors and a classifier of all examples.

  `respond` is from logits under the labels' class shares to posteriors.
  """
  logits, test = problem.logits / temperature, problem.test_logits
  head, prior = None, np.log(problem.prior)
  for _ in range(rounds):
    head = fit_head(problem, respond(logits), head)
    logits, test = (
      _with_ones(x) @ head + prior for x in (problem.unlabeled, problem.test)
    )
  return Found(respond(logits), test)


def shift_priors(
  problem: Problem, logits: np.ndarray, weight: float = 1
) -> np.ndarray:
  """Posteriors with class shares of each client, by EM (Saerens et al., 2002).

  With a weight below 1 it is MAPLS (Ye et al., 2024): the shares are the mean
  posterior with this weight, and else the same for all classes, as the mode
  under a Dirichlet prior is.
  """
  ratio = logits - np.log(problem.prior)
  count = logits.shape[1]
  shares = np.tile(problem.prior, (len(problem.sizes), 1))
  for _ in range(_EM_ITERATIONS):
    found = special.softmax(
      ratio + np.log(shares + _LEAST)[problem.owner], axis=1
    )
    mean = problem.add_up(found) / problem.sizes[:, np.newaxis]
    shares = weight * mean + (1 - weight) / count
  return special.softmax(ratio + np.log(shares + _LEAST)[problem.owner], axis=1)


def em(
  problem: Problem, rounds: int, temperature: float, weight: float = 1
) -> Found:
  """EM for each client, or MAPLS."""
  respond = functools.partial(shift_priors, problem, weight=weight)
  return _alternate(problem, respond, rounds, temperature)


def fixed_strength(
  problem: Problem,
  rounds: int,
  temperature: float,
  biases: bool,
  strength: float,
) -> Found:
  """Shares of clients under a Dirichlet prior of a given strength.

  With `biases` the mean posterior is kept at the class shares of the labels.
  """

  def respond(logits: np.ndarray) -> np.ndarray:
    prior = problem.prior
    bias = -np.log(prior)
    shares = np.tile(prior, (len(problem.sizes), 1))
    for _ in range(15):
      found = special.softmax(
        logits + bias + np.log(shares)[problem.owner], axis=1
      )
      shares = (problem.add_up(found) + strength * prior) / (
        problem.sizes[:, np.newaxis] + strength
      )
      if biases:
        bias += 0.5 * np.log(prior / (found.mean(axis=0) + 1e-9))
    return special.softmax(
      logits + bias + np.log(shares)[problem.owner], axis=1
    )

  return _alternate(problem, respond, rounds, temperature)


def true_shares(problem: Problem, rounds: int, temperature: float) -> Found:
  """The true class shares of each client, which no client knows."""
  counts = problem.add_up(np.eye(len(problem.prior))[problem.classes])
  shares = counts / problem.sizes[:, np.newaxis]
  offset = np.log(shares + _LEAST)[problem.owner] - np.log(problem.prior)
  return _alternate(
    problem,
    lambda logits: special.softmax(logits + offset, axis=1),
    rounds,
    temperature,
  )


def labels_alone(problem: Problem) -> Found:
  """The regression of the labels."""
  return Found(problem.logits, problem.test_logits)


def self_training(problem: Problem, rounds: int, threshold: float) -> Found:
  """Pseudo-labels (Lee, 2013) of examples above a confidence threshold."""

  def respond(logits: np.ndarray) -> np.ndarray:
    found = special.softmax(logits, axis=1)
    is_largest = found == found.max(axis=1, keepdims=True)
    # An example below the threshold has next to no weight.
    return is_largest * (found >= threshold) + 1e-6 * found

  return _alternate(problem, respond, rounds)


def mixture(problem: Problem, iterations: int, weight: float) -> Found:
  """A Gaussian mixture of all examples, without shares of clients, by EM.

  Classes have one covariance, shrunk as in client priors, and the class shares
  of the labels; an unlabeled example has a weight (Nigam et al., 2000).
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


def paddle_posteriors(
  x: np.ndarray,
  targets: np.ndarray,
  query: np.ndarray,
  scale: float,
  complexity: float,
) -> np.ndarray:
  """PADDLE (Martin et al., 2022): posteriors of one client's examples.

  Args:
    x: Labeled examples, [labels, components].
    targets: Their classes, one-hot.
    query: The client's examples, [examples, components].
    scale: Of squared distances.
    complexity: Weight of the partition complexity, lambda / |Q|.
  """
  means = targets.T @ x / targets.sum(axis=0)[:, np.newaxis]
  dual = np.zeros(targets.shape[1])
  for _ in range(_FEW_SHOT_ITERATIONS):
    distances = np.sum(means**2, axis=1) - 2 * query @ means.T
    found = special.softmax(
      -0.5 * scale * distances + complexity * dual, axis=1
    )
    dual = np.log(found.mean(axis=0) + 1e-6) + 1
    counts = found.sum(axis=0) + targets.sum(axis=0)
    means = (found.T @ query + targets.T @ x) / counts[:, np.newaxis]
  return found


def paddle(problem: Problem, scale: float, complexity: float) -> Found:
  """PADDLE at each client."""
  found = np.concatenate(
    [
      paddle_posteriors(problem.x, problem.targets, query, scale, complexity)
      for query in problem.split(problem.unlabeled)
    ]
  )
  return _alternate(problem, lambda _: found, rounds=1)


def step_dirichlet(alpha: np.ndarray, mean_logarithm: np.ndarray) -> np.ndarray:
  """A majorize-minimize step of Dirichlet parameters (Martin et al., 2024).

  Never lowers the likelihood of data whose mean logarithms are given; both are
  [..., classes].
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
  """EM-Dirichlet at each client, on probabilities of the labels alone."""
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
    shares = total / problem.sizes[:, np.newaxis]
    constant = (
      special.gammaln(alpha.sum(axis=-1))
      - special.gammaln(alpha).sum(axis=-1)
      + complexity * np.log(shares + 1e-15)
    )
    scores = np.einsum('nd,ncd->nc', logarithms, (alpha - 1)[problem.owner])
    found = special.softmax(scores + constant[problem.owner], axis=1)
  return _alternate(problem, lambda _: found, rounds=1)


def _normalize(x: np.ndarray) -> np.ndarray:
  return x / np.linalg.norm(x, axis=1, keepdims=True)


def laplacian_posteriors(
  unary: np.ndarray, affinity: np.ndarray, weight: float
) -> np.ndarray:
  """LaplacianShot (Ziko et al., 2020): posteriors of one client's examples.

  Args:
    unary: Squared distances to prototypes, [examples, classes].
    affinity: Whether examples are neighbors, [examples, examples].
    weight: Of the Laplacian term.
  """
  found = special.softmax(-unary, axis=1)
  for _ in range(_FEW_SHOT_ITERATIONS):
    found = special.softmax(weight * affinity @ found - unary, axis=1)
  return found


def laplacian_shot(problem: Problem, weight: float, rectifies: bool) -> Found:
  """LaplacianShot at each client, with three neighbors, on unit vectors."""
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
    posteriors.append(laplacian_posteriors(unary, affinity, weight))
  found = np.concatenate(posteriors)
  return _alternate(problem, lambda _: found, rounds=1)


class Method(NamedTuple):
  """A method, the values of its settings to choose from, and its limits."""

  run: Callable[..., Found]
  grid: Mapping[str, tuple[Any, ...]]
  is_bound: bool = False  # Whether it is told what no client knows.

  @property
  def settings(self) -> list[dict[str, Any]]:
    """All combinations of the values."""
    return [
      dict(zip(self.grid, values, strict=True))
      for values in itertools.product(*self.grid.values())
    ]


_TEMPERATURES = (0.25, 0.5, 1.0)
METHODS: Mapping[str, Method] = {
  'labels_alone': Method(labels_alone, {}),
  'self_training': Method(
    self_training, {'rounds': (1, 5), 'threshold': (0.3, 0.5, 0.7, 0.9)}
  ),
  'mixture': Method(mixture, {'iterations': (5, 20, 50), 'weight': (0.1, 1.0)}),
  'em': Method(em, {'rounds': (0, 1, 5), 'temperature': _TEMPERATURES}),
  'mapls': Method(
    em,
    {
      'rounds': (0, 5),
      'temperature': _TEMPERATURES,
      'weight': (0.3, 0.6, 0.9),
    },
  ),
  'paddle': Method(
    paddle,
    {'scale': (0.03, 0.1, 0.3, 1.0), 'complexity': (0.3, 1.0, 5.0)},
  ),
  'em_dirichlet': Method(
    em_dirichlet,
    {'temperature': (0.5, 1.0, 2.0, 4.0), 'complexity': (0.3, 1.0, 2.0)},
  ),
  'laplacian_shot': Method(
    laplacian_shot,
    {'weight': (0.3, 1.0, 3.0), 'rectifies': (False, True)},
  ),
  **{
    f'strength{strength}': Method(
      functools.partial(fixed_strength, strength=strength),
      {'rounds': (1, 5), 'temperature': _TEMPERATURES, 'biases': (False, True)},
    )
    for strength in (1, 100)
  },
  'true_shares': Method(
    true_shares,
    {'rounds': (1, 5), 'temperature': _TEMPERATURES},
    is_bound=True,
  ),
}
