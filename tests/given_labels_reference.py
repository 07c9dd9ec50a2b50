# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Compares pseudo-labels that a client returned with a reference."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tff_semifl.core import pseudo_labels


class LabeledBatch(NamedTuple):
  """Pseudo-labels that were made at the same time."""

  images: np.ndarray
  labels: np.ndarray
  is_confident: np.ndarray


def assert_given(
  found: pseudo_labels.GivenLabels, batches: Sequence[LabeledBatch]
) -> None:
  """Asserts that a client returned these batches of labels, in this order."""
  np.testing.assert_array_equal(
    found.image, np.concatenate([batch.images for batch in batches])
  )
  np.testing.assert_array_equal(
    found.label, np.concatenate([batch.labels for batch in batches])
  )
  shares = [
    batch.is_confident * len(batch.labels) / max(batch.is_confident.sum(), 1)
    for batch in batches
  ]
  np.testing.assert_allclose(found.share, np.concatenate(shares), rtol=1e-6)
