# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

import numpy as np
from scipy import special

from benchmarks import baseline_methods


def _problem(logits: np.ndarray, owner: list[int]):
  unused = np.zeros([0, 2])
  return baseline_methods.Problem(
    x=unused,
    targets=np.array([[1, 0], [1, 0], [1, 0], [0, 1]]),
    unlabeled=np.zeros([len(logits), 2]),
    owner=np.array(owner),
    classes=np.zeros(len(logits), int),
    test=unused,
    test_classes=np.zeros(0, int),
    logits=logits,
    label_logits=unused,
    test_logits=unused,
    penalty=1.0,
  )


def test_shares_of_clients_maximize_the_likelihood():
  logits = np.random.default_rng(0).normal(size=[30, 2]) * 3
  problem = _problem(logits, 10 * [0] + 20 * [1])
  found = baseline_methods.shift_priors(problem, logits)
  likelihood = special.softmax(logits, axis=1) / problem.prior
  grid = np.linspace(1e-6, 1 - 1e-6, 2001)
  for client in range(2):
    own = likelihood[problem.owner == client]
    total = np.log(own @ np.stack([grid, 1 - grid])).sum(axis=0)
    share = found[problem.owner == client, 0].mean()
    np.testing.assert_allclose(share, grid[total.argmax()], atol=2e-3)


def test_mapls_is_the_mode_under_a_dirichlet_prior():
  logits = np.random.default_rng(1).normal(size=[20, 2])
  problem = _problem(logits, 20 * [0])
  weight = 0.8
  found = baseline_methods.shift_priors(problem, logits, weight)
  likelihood = special.softmax(logits, axis=1) / problem.prior
  grid = np.linspace(1e-6, 1 - 1e-6, 2001)
  # The prior's alpha - 1, with which counts of examples have the given weight.
  added = 20 * (1 / weight - 1) / 2
  total = np.log(likelihood @ np.stack([grid, 1 - grid])).sum(axis=0)
  total += added * (np.log(grid) + np.log(1 - grid))
  share = weight * found[:, 0].mean() + (1 - weight) / 2
  np.testing.assert_allclose(share, grid[total.argmax()], atol=2e-3)


def test_dirichlet_steps_raise_the_likelihood_to_its_maximum():
  logarithms = np.log(
    np.random.default_rng(0).dirichlet([0.5, 2.0, 5.0], size=40)
  )
  mean = logarithms.mean(axis=0)
  alpha, values = np.ones(3), []
  for _ in range(3000):
    values.append(
      special.gammaln(alpha.sum())
      - special.gammaln(alpha).sum()
      + (alpha - 1) @ mean
    )
    alpha = baseline_methods.step_dirichlet(alpha, mean)
  assert np.all(np.diff(values) > -1e-9)
  np.testing.assert_allclose(
    special.digamma(alpha) - special.digamma(alpha.sum()), mean, atol=1e-4
  )


def test_paddle_penalizes_the_number_of_classes():
  problem = _problem(np.zeros([4, 2]), 4 * [0])._replace(
    x=np.array([[-1.0], [-1.0], [-1.0], [1.0]]),
    unlabeled=np.array([[-1.2], [-0.9], [-0.1], [0.1]]),
    test=np.zeros([1, 1]),
  )
  free, penalized = (
    baseline_methods.paddle(problem, 1.0, complexity).own.mean(axis=0)
    for complexity in (0.0, 5.0)
  )
  assert penalized.min() < 0.01 < free.min()
