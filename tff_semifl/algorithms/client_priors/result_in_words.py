# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Describes what was exported and why, and how much clients improved it."""

from collections.abc import Iterator, Mapping
import math
from typing import Any, NamedTuple

import numpy as np

from tff_semifl.algorithms.client_priors import choice
from tff_semifl.algorithms.client_priors import held_out
from tff_semifl.label_shift import class_shares
from tff_semifl.metrics import intervals

# It is found to within a part in a thousand.
_ALIKE = 0.99 * class_shares.GREATEST_STRENGTH
_NAMES = ('labels alone', 'mixture', 'head')


class Found(NamedTuple):
  """The metrics of the last round that explain the choice of a classifier.

  Attributes:
    kept: The index of the exported classifier in `held_out.CANDIDATES`.
    keep: The value of the setting `keep`.
    has_labels: Whether there are enough labels to choose a classifier.
    has_examples: Whether clients have enough examples.
    num_held_out: The number of held-out labels.
    num_right: For each candidate, how many of these it predicts correctly.
    spread: The variance of clients' offsets divided by that of examples.
    server_spread: See `choice.Choice`.
    evidence: `class_shares.evidence` per example; NaN if no client sent it.
    strength: `class_shares.strength`.
  """

  kept: int
  keep: str
  has_labels: bool
  has_examples: bool
  num_held_out: int
  num_right: tuple[int, ...]
  spread: float
  server_spread: float
  evidence: float
  strength: float


def read(
  metrics: Mapping[str, Any], *, has_labels: bool, keep: str
) -> Found | None:
  """Reads the metrics of a round; None if no round had clients."""

  def get(name: str) -> float:
    return metrics.get(f'client/own/{name}', math.nan)

  if math.isnan(get('kept')):
    return None
  return Found(
    int(get('kept')),
    keep,
    has_labels,
    get('has_examples') > 0,
    int(get('held_out')),
    tuple(int(get(f'right_{name}')) for name in held_out.CANDIDATES),
    get('spread'),
    get('server_spread'),
    get('evidence'),
    get('strength'),
  )


def describe(
  alone: np.ndarray,
  with_clients: np.ndarray,
  round_num: int,
  found: Found | None,
) -> Iterator[str]:
  """Yields a table of accuracies, and lines on the choice and the evidence.

  Args:
    alone: bool [images], whether the labels alone predict an image correctly.
    with_clients: bool [images], whether the exported classifier does.
    round_num: The round of the exported classifier.
    found: The metrics of the last round; None if no client took part.
  """
  gain = 100 * (with_clients.mean() - alone.mean())
  low, high = intervals.of_difference(alone, with_clients)
  name = f'exported (round {round_num})'
  width = max(len(name), len('labels alone (round 0)'))
  yield f'{"labels alone (round 0)":{width}}  {alone.mean():6.1%}'
  yield f'{name:{width}}  {with_clients.mean():6.1%}'
  label = 'gain'
  if high < 0:
    label = 'loss'
  yield (
    f'{label:{width}}  {gain:+.1f} points (95% interval'
    f' {100 * low:+.1f} to {100 * high:+.1f}, paired)'
  )
  if high < 0:
    yield (
      'WARNING: what is exported is worse than the labels alone;'
      ' --keep=labels_alone exports these'
    )
  if found is None or math.isnan(found.evidence):
    yield 'no client took part: all is learned from the labels'
    return
  yield from _describe_choice(found)
  yield from _describe_clients(found)


def _describe_choice(found: Found) -> Iterator[str]:
  kept = _NAMES[found.kept]
  if found.num_held_out:
    right = ', '.join(
      f'{name} {right}'
      for name, right in zip(_NAMES, found.num_right, strict=True)
    )
    yield f'held-out labels right, of {found.num_held_out}: {right}'
  others = ', '.join(held_out.CANDIDATES[1:])
  if found.keep != choice.CHOSEN:
    yield f'exported, as --keep says: {kept}'
  elif not found.has_examples:
    yield (
      f'clients have fewer than {held_out.LEAST_EXAMPLES} examples for each'
      ' label, too few to learn from: the labels alone are exported; --keep'
      f' exports one of {others}'
    )
  elif not found.has_labels:
    yield (
      'labels are too few for a choice (two of each class, and'
      f' {held_out.LEAST_LABELS} together): the labels alone are exported;'
      f' --keep exports one of {others}'
    )
  elif held_out.images_differ(found.spread, found.server_spread):
    yield (
      "clients' images differ, from each other (spread of clients' means"
      f' {found.spread:.3f}, above {held_out.GREATEST_SPREAD}) and from the'
      " labels', not their classes alone: the labels alone are exported; --keep"
      f' exports one of {others}'
    )
  else:
    yield f'exported, as held-out labels say: {kept}'


def _describe_clients(found: Found) -> Iterator[str]:
  yield (
    "with own class shares, a client's example is"
    f' {math.exp(found.evidence):.2f} times as likely as with those of all'
    f' clients (evidence {found.evidence:.3f}, strength {found.strength:.3g})'
  )
  if found.evidence < class_shares.LEAST_EVIDENCE or found.strength >= _ALIKE:
    yield (
      'clients are alike, or have too few examples to show how they differ:'
      ' which client has an example tells nothing of its class. Unlabeled'
      ' examples help less than where clients differ, and more labels help most'
    )
