# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Robust, private and quantized means of clients' updates.

All are built from TFF's factories. Only the private mean uses random numbers:
noise that follows from the run's key. The private mean is unweighted: clients
without a confident image count with an update of zero.

References for the noise of the private mean:
  Aumasson, Bernstein. SipHash: a fast short-input PRF. 2012.
  Salmon, Moraes, Dror, Shaw. Parallel random numbers: as easy as 1, 2, 3. 2011.
  Mironov. On significance of the least significant bits for differential
  privacy. 2012.
  Holohan, Braghin. Secure random sampling in differential privacy. 2021.
"""

import abc
import collections
import dataclasses
import math
import re
import struct
from typing import Any

import dp_accounting
import tensorflow as tf
import tensorflow_federated as tff
import tensorflow_privacy

from tff_semifl import settings
from tff_semifl.privacy import privacy_key
from tff_semifl.settings import references

# Quantizing a smaller tensor saves no more than its minimum and maximum, which
# are sent with the quantized values, cost.
_MIN_QUANTIZED_ELEMENTS = 256
# The normal numbers whose sum is the noise of an element.
_NUM_SUMMED = 4
# 32-bit words: Philox's key has two, its counter four.
_NUM_WORDS = 6


class Aggregator(settings.Settings, abc.ABC):
  """The base class of settings that build an aggregator."""

  @abc.abstractmethod
  def build(self, **private: Any) -> tff.aggregators.AggregationFactory:
    """Builds the aggregator; see `PrivateMean` for the arguments."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class RobustMean(Aggregator):
  """The mean of updates clipped to the 0.8 quantile of their norms.

  An update whose norm is far above those of earlier updates counts as zero.
  Clients of weight 0 count with norm 0 in the estimated quantiles.
  """

  def build(self, **_: Any) -> tff.aggregators.WeightedAggregationFactory:
    return tff.learning.robust_aggregator(
      # In place of TFF's mean, which over no clients is 0 / 0.
      debug_measurements_fn=lambda _: tff.aggregators.MeanFactory(
        no_nan_division=True
      )
    )


class KeyedGaussianSumQuery(tensorflow_privacy.GaussianSumQuery):
  """A `GaussianSumQuery` whose noise is unchanged when a run is resumed.

  SipHash-2-4, a keyed pseudorandom function, computes the initial state of
  Philox4x32-10 from the key, the number of the sum and the number of the
  tensor. The state has 192 bits, 64 of key and 128 of counter, which is all
  that TensorFlow's operation takes.

  The noise of an element is half the sum of four normal numbers. The noise
  reaches 11 standard deviations, a single number only 5.7. Recovering the
  numbers from the noise is also far more work (Holohan and Braghin, 2021).
  `docs/privacy.md` states the limits.

  The query's state is the number of past sums, so that each sum gets different
  noise. The key is not part of the state, but a constant of the computation.
  Both processes of the server, this one and TFF's worker, have the key. Client
  computations, for example on a Ray cluster, do not have the key.
  """

  _GlobalState = collections.namedtuple(
    '_GlobalState', ['l2_norm_clip', 'stddev', 'num_results']
  )

  def __init__(
    self, l2_norm_clip: float, stddev: float, key: privacy_key.PrivacyKey
  ):
    """`stddev` is the standard deviation of each element's noise."""
    super().__init__(l2_norm_clip, stddev)
    # Attributes of TensorFlow's operations are signed integers.
    self._hash_key = list(struct.unpack('<2q', key.derive('noise', 16)))

  def initial_global_state(self) -> Any:
    return self._GlobalState(
      tf.constant(self._l2_norm_clip, tf.float32),
      tf.constant(self._stddev, tf.float32),
      tf.constant(0, tf.int32),
    )

  def preprocess_record(self, params: Any, record: Any) -> Any:
    clipped, norm = self.preprocess_record_impl(params, record)
    # Clipping a record with an infinite or undefined norm gives NaN.
    return tf.nest.map_structure(
      lambda a: tf.where(tf.math.is_finite(norm), a, tf.zeros_like(a)), clipped
    )

  def get_noised_result(
    self, sample_state: Any, global_state: Any
  ) -> tuple[Any, Any, dp_accounting.DpEvent]:
    noised = [
      tensor
      + global_state.stddev
      * self._draw_normal(tf.shape(tensor), global_state.num_results, index)
      for index, tensor in enumerate(tf.nest.flatten(sample_state))
    ]
    return (
      tf.nest.pack_sequence_as(sample_state, noised),
      global_state._replace(num_results=global_state.num_results + 1),
      dp_accounting.GaussianDpEvent(
        global_state.stddev / global_state.l2_norm_clip
      ),
    )

  def _draw_normal(
    self, shape: tf.Tensor, sum_number: tf.Tensor, tensor_number: int
  ) -> tf.Tensor:
    """Draws standard normal numbers, float32."""
    messages = tf.strings.join(
      [
        tf.strings.as_string(sum_number),
        str(tensor_number),
        [str(word) for word in range(_NUM_WORDS)],
      ],
      separator='/',
    )
    hashes = tf.strings.to_hash_bucket_strong(messages, 2**32, self._hash_key)
    words = tf.bitcast(
      tf.reshape(tf.cast(hashes, tf.uint32), [_NUM_WORDS // 2, 2]), tf.uint64
    )
    # The raw operation, because `tf.random.stateless_*` take only 64 bits of
    # key.
    summed = tf.raw_ops.StatelessRandomNormalV2(
      shape=tf.concat([[_NUM_SUMMED], shape], axis=0),
      key=words[:1],
      counter=words[1:],
      alg=tf.random.Algorithm.PHILOX.value,
      dtype=tf.float32,
    )
    return tf.reduce_sum(summed, axis=0) / math.sqrt(_NUM_SUMMED)


# Outside this range, squares overflow float32, or epsilon is NaN.
_MODERATE = settings.Values(
  'from 0.000001 to 1000000', lambda value: 1e-6 <= value <= 1e6
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class PrivateMean(Aggregator):
  """The mean of clipped updates plus noise, for differential privacy.

  Updates are clipped and summed, Gaussian noise is added, and the sum is
  divided by the cohort size, even if clients drop out (McMahan et al., 2018).
  The guarantee covers the weights, but not the clients' metrics.
  """

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
    self,
    *,
    clients_per_round: int | None = None,
    key: privacy_key.PrivacyKey | None = None,
    **_: Any,
  ) -> tff.aggregators.UnweightedAggregationFactory:
    """Builds the mean, whose noise follows from the secret key.

    Keep the key as long as the run may be resumed. Anyone who knows the key can
    subtract the noise. Cohorts must stay secret, and should follow from this
    key, too.
    """
    if key is None:
      raise ValueError('Differential privacy needs a privacy key.')
    multiplier = settings.filled('noise_multiplier', self.noise_multiplier)
    size = max(settings.filled('clients_per_round', clients_per_round), 1)
    query = KeyedGaussianSumQuery(
      l2_norm_clip=self.clipping_norm,
      stddev=multiplier * self.clipping_norm,
      key=key,
    )
    return tff.aggregators.DifferentiallyPrivateFactory(
      tensorflow_privacy.NormalizedQuery(query, float(size))
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class QuantizedMean(Aggregator):
  """The mean of updates quantized to a few bits.

  Each element is rounded to the nearest of `2**bits` values, spaced evenly from
  the minimum to the maximum of its tensor. Rounding is not stochastic, because
  TFF's random numbers would not follow from the run's seed.
  """

  quantization_bits: int = settings.setting(
    8, 'Bits of a number.', settings.between(1, 16)
  )

  def build(self, **_: Any) -> tff.aggregators.WeightedAggregationFactory:
    return tff.aggregators.MeanFactory(
      tff.aggregators.EncodedSumFactory.quantize_above_threshold(
        quantization_bits=self.quantization_bits,
        threshold=_MIN_QUANTIZED_ELEMENTS,
        stochastic=False,
      ),
      no_nan_division=True,
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class OutsideAggregator(Aggregator):
  """An aggregator of another package, named 'package.module:NAME'.

  The records of runs identify the aggregator by the code of the factory's
  class, `kind`, but not by the factory's arguments.
  """

  reference: str
  factory: Any = dataclasses.field(metadata=settings.TOLD_ELSEWHERE)
  kind: type

  def build(self, **_: Any) -> tff.aggregators.AggregationFactory:
    return self.factory


def load_outside(reference: str) -> Aggregator:
  """Loads an aggregator of another package, by 'package.module:NAME'."""
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
  return settings.outside(Aggregator, 'TFF aggregation factory')(reference)
