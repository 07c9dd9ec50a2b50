# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Class priors by expectation maximization, in NumPy (H.3)."""

import numpy as np


def estimate(logits, server_prior, pseudo_count, iterations):
  """Saerens et al. with a Dirichlet prior, in probabilities and float64."""
  prior = server_prior
  for _ in range(iterations):
    joint = np.exp(logits) * prior / server_prior
    posterior = joint / joint.sum(axis=1, keepdims=True)
    prior = posterior.sum(axis=0) + pseudo_count * server_prior
    prior /= len(logits) + pseudo_count
  return prior
