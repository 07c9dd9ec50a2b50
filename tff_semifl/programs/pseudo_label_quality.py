# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Pseudo-labels against the truth, which only a simulation knows (A.14)."""

from collections.abc import Sequence
import math
from typing import NamedTuple

import numpy as np

from tff_semifl.work import given_labels as given_labels_lib


class PseudoLabelQuality(NamedTuple):
  """How right a round's pseudo-labels were; NaN where nothing says so.

  Attributes:
    pseudo_accuracy: Share of right ones among all labels.
    threshold_accuracy: Share of right ones among those that were trained on, of
      labels that were made at the same time; its mean over these times, by the
      number of labels, with 0 where none was trained on. It is low where few
      are confident, as in the authors' figures (D17).
    micro_threshold_accuracy: Share of right ones among all labels that were
      trained on.
  """

  pseudo_accuracy: float
  threshold_accuracy: float
  micro_threshold_accuracy: float


UNKNOWN = PseudoLabelQuality(math.nan, math.nan, math.nan)


def measure(
  given_labels: Sequence[given_labels_lib.GivenLabels],
  true_labels: Sequence[np.ndarray],
) -> PseudoLabelQuality:
  """Compares the labels that clients gave in a round with the truth.

  Args:
    given_labels: What each client of the cohort returned.
    true_labels: int32 [images of the client], for each of them.
  """
  is_right = np.concatenate(
    [
      truth[given.image] == given.label
      for given, truth in zip(given_labels, true_labels, strict=True)
    ]
    or [np.zeros(0, bool)]
  )
  if not len(is_right):
    return UNKNOWN
  share = np.concatenate(
    [np.asarray(given.share, np.float64) for given in given_labels]
  )
  is_trained_on = share > 0
  return PseudoLabelQuality(
    pseudo_accuracy=np.float32(is_right.mean()),
    threshold_accuracy=np.float32((is_right * share).mean()),
    micro_threshold_accuracy=np.float32(
      is_right[is_trained_on].mean() if is_trained_on.any() else math.nan
    ),
  )
