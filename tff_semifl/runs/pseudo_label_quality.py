# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Accuracy of pseudo-labels, which only a simulation can measure (A.14)."""

from collections.abc import Sequence
import math
from typing import NamedTuple

import numpy as np

from tff_semifl.training import given_labels as given_labels_lib


class PseudoLabelQuality(NamedTuple):
  """The accuracy of a round's pseudo-labels, NaN where it is not known.

  Attributes:
    pseudo_accuracy: Share of correct labels among all labels.
    threshold_accuracy: Mean over groups of labels that were made at the same
      time, weighted by the number of labels, of the share of correct ones among
      those of the group that were trained on, or 0 if none was. It is low if
      few labels are confident, as in the authors' figures.
    micro_threshold_accuracy: Share of correct labels among all labels that were
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
  """Compares the clients' pseudo-labels of a round with the true labels.

  Args:
    given_labels: The pseudo-labels of each client of the cohort.
    true_labels: int32 [images of the client], for each client of the cohort.

  Returns:
    The accuracies, as float32 scalars.
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
