# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Lines on what clients added to the labels, and on what they could add."""

from collections.abc import Iterator
import math

import numpy as np

from tff_semifl.methods.client_priors import class_shares
from tff_semifl.runs import intervals

# It is found to within a part in a thousand.
_ALIKE = 0.99 * class_shares.GREATEST_STRENGTH


def describe(
  alone: np.ndarray,
  with_clients: np.ndarray,
  round_num: int,
  *,
  evidence: float,
  strength: float,
) -> Iterator[str]:
  """Yields a table of accuracies, and a line on how much clients differ.

  Args:
    alone: bool [images], which images the labels alone are right on.
    with_clients: bool [images], the same with clients.
    round_num: The round of the latter.
    evidence: `class_shares.evidence`, mean over clients' examples; NaN if no
      client sent any.
    strength: `class_shares.strength`.
  """
  gain = 100 * (with_clients.mean() - alone.mean())
  low, high = intervals.of_difference(alone, with_clients)
  name = f'with clients (round {round_num})'
  yield f'{"labels alone (round 0)":{len(name)}}  {alone.mean():6.1%}'
  yield f'{name}  {with_clients.mean():6.1%}'
  yield (
    f'{"gain":{len(name)}}  {gain:+.1f} points (95% interval'
    f' {100 * low:+.1f} to {100 * high:+.1f}, paired)'
  )
  if np.isnan(evidence):
    yield 'no client took part: all is learned from the labels'
    return
  yield (
    "with own class shares, a client's example is"
    f' {math.exp(evidence):.2f} times as likely as with those of all clients'
    f' (evidence {evidence:.3f}, strength {strength:.3g})'
  )
  if evidence < class_shares.LEAST_EVIDENCE or strength >= _ALIKE:
    yield (
      'clients are alike, or have too few examples to show how they differ:'
      ' which client has an example tells nothing of its class. Unlabeled'
      ' examples help less than where clients differ, and more labels help most'
    )
