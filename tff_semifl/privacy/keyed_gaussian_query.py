# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Gaussian noise for private sums, as a function of a secret key.

SipHash-2-4, a keyed pseudorandom function, computes the initial state of
Philox4x32-10 from the key, the number of the sum and the number of the tensor.
The state has 192 bits, 64 of key and 128 of counter, which is all that
TensorFlow's operation takes.

Each number is half the sum of four normal numbers. Such a number reaches 11
standard deviations, and not 5.7, and recovering the four numbers from their sum
is far more work (Holohan and Braghin, 2021). `docs/privacy.md` states the
limits.

The key is a constant of the computation. Each process that runs the computation
has the key: this process and TFF's worker, which belong to the server. Client
computations, for example on a Ray cluster, do not have the key.

References:
  Aumasson, Bernstein. SipHash: a fast short-input PRF. 2012.
  Salmon, Moraes, Dror, Shaw. Parallel random numbers: as easy as 1, 2, 3. 2011.
  Mironov. On significance of the least significant bits for differential
  privacy. 2012.
  Holohan, Braghin. Secure random sampling in differential privacy. 2021.
"""

import collections
import math
import struct
from typing import Any

import dp_accounting
import tensorflow as tf
import tensorflow_privacy

from tff_semifl.privacy import privacy_key

_NUM_SUMMED = 4
# 32-bit words: Philox's key has two, its counter four.
_NUM_WORDS = 6


class KeyedGaussianSumQuery(tensorflow_privacy.GaussianSumQuery):
  """A `GaussianSumQuery` whose noise is unchanged when a run is resumed.

  The state is the number of past sums. Each sum gets different noise. The key
  is not part of the state.
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
