# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Metrics of predicted probabilities: NLL, Brier score, calibration error.

Each takes labels, int [images] in 0..classes-1, and logits, float [images,
classes]; lower is better.
"""

import numpy as np
from scipy import special

# As in Guo et al., ICML 2017.
_NUM_BINS = 15


def nll(labels: np.ndarray, logits: np.ndarray) -> float:
  """The mean negative log likelihood of the labels, in nats."""
  log_probabilities = special.log_softmax(logits.astype(np.float64), axis=1)
  return float(-np.mean(log_probabilities[np.arange(len(labels)), labels]))


def brier(labels: np.ndarray, logits: np.ndarray) -> float:
  """The mean squared distance of probabilities from one-hot labels, in 0..2.

  References:
    Brier. Verification of forecasts expressed in terms of probability. Monthly
    Weather Review 78 (1950). For two classes, scikit-learn's score is half of
    this.
  """
  errors = _probabilities(logits)
  errors[np.arange(len(labels)), labels] -= 1
  return float(np.mean(np.sum(errors**2, axis=1)))


def ece(labels: np.ndarray, logits: np.ndarray) -> float:
  """The expected calibration error, in 0..1.

  Images are binned by the probability of the predicted class, in 15 equal parts
  of 0..1. The error is the mean over images of the absolute difference
  between accuracy and mean probability in the image's bin.

  References:
    Guo, Pleiss, Sun, Weinberger. On Calibration of Modern Neural Networks. ICML
    2017.
  """
  probabilities = _probabilities(logits)
  confidence = probabilities.max(axis=1)
  is_right = probabilities.argmax(axis=1) == labels
  # Bins include their upper end, and the first includes 0.
  bins = np.maximum(np.ceil(confidence * _NUM_BINS).astype(int), 1) - 1
  bins = np.minimum(bins, _NUM_BINS - 1)
  excess = np.bincount(bins, weights=is_right - confidence)
  return float(np.abs(excess).sum() / len(labels))


def _probabilities(logits: np.ndarray) -> np.ndarray:
  return special.softmax(logits.astype(np.float64), axis=1)
