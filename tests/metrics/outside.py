# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Metrics that a user might have written."""

import numpy as np


def num_mistakes(labels: np.ndarray, logits: np.ndarray) -> float:
  """The number of wrong predictions."""
  return float(np.sum(logits.argmax(axis=1) != labels))


num_mistakes.higher_is_better = False


def macro_f1(labels: np.ndarray, logits: np.ndarray) -> float:
  """A metric with the name of another metric."""
  return num_mistakes(labels, logits)


def text(labels: np.ndarray, logits: np.ndarray) -> str:
  """A metric that returns no number."""
  del labels, logits
  return 'good'


def broken(labels: np.ndarray, logits: np.ndarray) -> float:
  """A metric that always fails."""
  return labels[len(logits)]


NUMBER = 3
