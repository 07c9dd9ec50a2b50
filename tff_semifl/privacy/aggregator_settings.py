# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Settings for the aggregation of clients' updates."""

import abc
import dataclasses
import re
from typing import Any

import tensorflow_federated as tff

from tff_semifl import settings
from tff_semifl.privacy import aggregators
from tff_semifl.privacy import privacy_key as privacy_key_lib
from tff_semifl.settings import references


class Aggregator(settings.Settings, abc.ABC):
  """The base class of settings that build an aggregator."""

  @abc.abstractmethod
  def build(
    self, clients_per_round: int | None, key: privacy_key_lib.PrivacyKey | None
  ) -> tff.aggregators.AggregationFactory:
    """Builds the aggregator; `key` is None without differential privacy."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Mean(Aggregator):
  """The mean of clients' updates, with the weights of the method."""

  def build(
    self, clients_per_round: int | None, key: privacy_key_lib.PrivacyKey | None
  ) -> tff.aggregators.AggregationFactory:
    del clients_per_round, key
    return aggregators.build_mean()


@dataclasses.dataclass(frozen=True, kw_only=True)
class RobustMean(Aggregator):
  """The mean of updates clipped to a quantile of their norms."""

  clipping_quantile: float = settings.setting(
    0.8, 'Share of updates that are not clipped.', settings.INSIDE_0_TO_1
  )

  def build(
    self, clients_per_round: int | None, key: privacy_key_lib.PrivacyKey | None
  ) -> tff.aggregators.AggregationFactory:
    del clients_per_round, key
    return aggregators.build_robust_mean(
      clipping_quantile=self.clipping_quantile
    )


# Outside this range, squares overflow float32, or epsilon is NaN.
_MODERATE = settings.Values(
  'from 0.000001 to 1000000', lambda value: 1e-6 <= value <= 1e6
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class PrivateMean(Aggregator):
  """The mean of clipped updates plus noise, for differential privacy."""

  noise_multiplier: float | None = settings.setting(
    None,
    'Standard deviation of the noise, in clipping norms. It has no default.',
    _MODERATE,
  )
  clipping_norm: float = settings.setting(
    1.0,
    'Norm that updates are clipped to; --aggregator=robust shows how long they'
    ' are.',
    _MODERATE,
  )
  privacy_delta: float = settings.setting(
    1e-5,
    'Delta for which epsilon is computed, less than 1 over the number of'
    ' clients.',
    settings.INSIDE_0_TO_1,
  )
  insecure_fixed_privacy_key: str | None = settings.setting(
    None,
    'For tests: noise and cohorts follow from these 64 hexadecimal digits and'
    ' can be repeated by everybody. Nothing is private then, and no epsilon is'
    ' claimed. By default each experiment draws its own secret key.',
    settings.Values(
      '64 hexadecimal digits, 0 to 9 and a to f',
      lambda value: re.fullmatch('[0-9a-f]{64}', value) is not None,
    ),
  )

  def build(
    self, clients_per_round: int | None, key: privacy_key_lib.PrivacyKey | None
  ) -> tff.aggregators.AggregationFactory:
    if key is None:
      raise ValueError('Differential privacy needs a privacy key.')
    return aggregators.build_private_mean(
      noise_multiplier=settings.filled(
        'noise_multiplier', self.noise_multiplier
      ),
      clipping_norm=self.clipping_norm,
      clients_per_round=max(
        settings.filled('clients_per_round', clients_per_round), 1
      ),
      key=key,
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class QuantizedMean(Aggregator):
  """The mean of updates quantized to a few bits."""

  quantization_bits: int = settings.setting(
    8, 'Bits of a number.', settings.between(1, 16)
  )

  def build(
    self, clients_per_round: int | None, key: privacy_key_lib.PrivacyKey | None
  ) -> tff.aggregators.AggregationFactory:
    del clients_per_round, key
    return aggregators.build_quantized_mean(bits=self.quantization_bits)


@dataclasses.dataclass(frozen=True, kw_only=True)
class OutsideAggregator(Aggregator):
  """An aggregator of another package, by its name 'package.module:NAME'.

  Records identify the aggregator by the code of the factory's class, `kind`,
  but not by the factory's arguments.
  """

  reference: str
  factory: Any = dataclasses.field(metadata=settings.TOLD_ELSEWHERE)
  kind: type

  def build(
    self, clients_per_round: int | None, key: privacy_key_lib.PrivacyKey | None
  ) -> tff.aggregators.AggregationFactory:
    del clients_per_round, key
    return self.factory


def load_outside(reference: str) -> Aggregator:
  """Loads an aggregator of another package."""
  found = references.load(reference)
  if isinstance(
    found,
    (
      tff.aggregators.UnweightedAggregationFactory,
      tff.aggregators.WeightedAggregationFactory,
    ),
  ):
    return OutsideAggregator(
      reference=reference, factory=found, kind=type(found)
    )
  return settings.outside(Aggregator)(reference)


AGGREGATORS = {
  'mean': Mean(),
  'robust': RobustMean(),
  'differential_privacy': PrivateMean(),
  'compression': QuantizedMean(),
}
_WITHOUT_PRIVACY = {
  name: part
  for name, part in AGGREGATORS.items()
  if not isinstance(part, PrivateMean)
}
_MEANING = (
  "Aggregation of clients' updates: mean, the uniform mean of those that count;"
  ' robust, of updates clipped to a quantile of their norms, without far longer'
  ' ones; compression, of updates quantized to a few bits'
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Rejection(settings.Settings):
  """Settings for the rejection of updates, with any aggregator."""

  max_update_norm_ratio: float = settings.setting(
    10.0,
    'An update is rejected if it is not finite, or if its norm exceeds this'
    ' multiple of the norm of the received weights, or of 1 if that is larger:'
    ' training diverged, or the client is malicious.',
    settings.ABOVE_0,
  )


@dataclasses.dataclass(frozen=True, kw_only=True)
class ChosenAggregator(settings.Settings):
  """The chosen aggregator."""

  aggregator: Aggregator = settings.choice(
    AGGREGATORS,
    'mean',
    f'{_MEANING}; differential_privacy, of clipped updates, with noise.',
    load=load_outside,
  )

  @property
  def private_mean(self) -> PrivateMean | None:
    """The aggregator if it is the private mean; else None."""
    if isinstance(self.aggregator, PrivateMean):
      return self.aggregator
    return None


@dataclasses.dataclass(frozen=True, kw_only=True)
class Aggregation(Rejection, ChosenAggregator):
  """Rejection and aggregation of clients' updates."""


def choose_without_privacy(why: str) -> Any:
  """A field for an aggregator other than the private mean."""
  return settings.choice(
    _WITHOUT_PRIVACY,
    'mean',
    f'{_MEANING}.',
    refused={'differential_privacy': why},
  )
