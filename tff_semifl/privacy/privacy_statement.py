# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The privacy guarantee to the clients whose images a model was trained on.

The statement is in `privacy.json`, in a SavedModel's folder or in the ZIP file
at the end of a TFLite model.
"""

import dataclasses
import json
import math

# The largest epsilon of a strong guarantee, and of a reasonable guarantee.
_STRONG = 1
_REASONABLE = 10

# The file in a SavedModel's folder or in a TFLite model's ZIP file.
NAME = 'privacy.json'


@dataclasses.dataclass(frozen=True, kw_only=True)
class PrivacyStatement:
  """A guarantee of (epsilon, delta)-differential privacy, or why there is none.

  `noise_multiplier` is in clipping norms. `num_rounds` counts rounds with
  clients. `neighboring_relation` says which populations are hard to
  distinguish.
  """

  epsilon: float | None
  delta: float
  num_rounds: int
  num_clients: int
  clients_per_round: int
  noise_multiplier: float
  clipping_norm: float
  why_not_private: str | None = None
  neighboring_relation: str = (
    'two populations are neighbors if they differ only in the images of one'
    ' client, in any number of them'
  )
  sampling: str = (
    'each round draws a cohort of fixed size uniformly without replacement, and'
    ' keeps it secret; clients drop out at random, independently of their'
    ' images'
  )
  noise: str = (
    'Gaussian, from a secret key that the operating system drew and that is'
    ' removed after the last round, by Philox, which is not a cryptographic'
    ' generator, in float32, whose rounding the proofs leave out (Mironov,'
    ' 2012)'
  )
  covered: str = (
    'one run: the weights after each round and whatever is computed from them,'
    ' including this model'
  )
  not_covered: tuple[str, ...] = (
    'metrics of clients, which have no noise: loss, accuracy, pseudo-labels and'
    ' their confidence, numbers of clients that took part or were rejected, and'
    ' the duration of rounds; who sees these as well may learn more, and which'
    ' clients took part',
    "the server's labeled images, which it trains on and computes batch"
    ' normalization statistics of without noise',
    'other runs on the same clients, with another seed or other flags: their'
    ' privacy losses add up',
    'the server itself and the workers that run its computations: they see the'
    ' sums to which noise is added',
  )

  @property
  def headline(self) -> str:
    """Epsilon, delta and rounds in one line, or why there is no guarantee."""
    if self.epsilon is None:
      return f'none: {self.why_not_private}'
    return (
      f'epsilon {self.epsilon:.4g} at delta {self.delta:g} after'
      f' {self.num_rounds} rounds'
    )

  @property
  def is_weak(self) -> bool:
    """Whether epsilon is above 10."""
    return self.epsilon is not None and self.epsilon > _REASONABLE

  @property
  def meaning(self) -> str:
    """A sentence that explains epsilon; empty without a guarantee."""
    if self.epsilon is None:
      return ''
    if self.epsilon <= _STRONG:
      strength = 'a strong guarantee'
    elif self.epsilon <= _REASONABLE:
      strength = 'a reasonable guarantee'
    else:
      strength = 'a weak guarantee, or none'
    # Kairouz, Oh and Viswanath (2015), for even prior odds.
    odds = math.exp(-self.epsilon)
    success = (1 + self.delta * odds) / (1 + odds)
    shown = f'{success:.1%}' if success < 0.999 else 'more than 99.9%'
    return (
      f'epsilon {self.epsilon:.4g} is {strength} (Ponomareva et al., JAIR 77,'
      f' 2023: strong up to {_STRONG}, reasonable up to {_REASONABLE}); an'
      ' attacker who knows that a client has one of two sets of images may tell'
      f' which in {shown} of cases, where guessing tells in 50%'
    )

  @property
  def details(self) -> list[tuple[str, str]]:
    """The terms of the guarantee, by name; empty without a guarantee."""
    if self.epsilon is None:
      return []
    return [
      (
        'mechanism',
        f'updates clipped to norm {self.clipping_norm:g}, their sum with'
        f' Gaussian noise of {self.noise_multiplier:g} times that norm,'
        f' {self.clients_per_round} of {self.num_clients} clients in a round',
      ),
      ('neighboring relation', self.neighboring_relation),
      ('sampling', self.sampling),
      ('noise', self.noise),
      ('covered', self.covered),
      *(('not covered', text) for text in self.not_covered),
    ]

  def to_json(self) -> str:
    """The statement as a JSON object of its attributes."""
    return json.dumps(dataclasses.asdict(self), indent=2) + '\n'


def from_json(text: str) -> PrivacyStatement:
  """Parses JSON of `to_json`; raises a ValueError if malformed."""
  try:
    values = dict(json.loads(text))
    statement = PrivacyStatement(
      **values | {'not_covered': tuple(values['not_covered'])}
    )
    # Raises an error for values of other types.
    _ = (statement.headline, statement.details)
  except (ValueError, TypeError, KeyError, RecursionError) as error:
    raise ValueError(f'it is no privacy statement: {error}') from error
  return statement
