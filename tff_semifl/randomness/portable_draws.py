# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The random numbers of TensorFlow's CPU kernels, for XLA and GPUs.

The bits that Philox draws from a stateless seed are the same on a CPU, on a GPU
and with XLA. This module turns the bits into numbers as the CPU kernels do, by
operations that XLA can compile. Tests compare the numbers.

References:
  Salmon, Moraes, Dror, Shaw. Parallel random numbers: as easy as 1, 2, 3. SC
  2011.

  Marsaglia, Tsang. A simple method for generating gamma variables. ACM TOMS 26,
  2000.
"""

import math
from typing import NamedTuple

import tensorflow as tf

from tff_semifl.randomness import random_draws

# TensorFlow's id of the Philox algorithm, and the key that scrambles seeds.
_PHILOX = 1
_SCRAMBLING_KEY = 0x02461E293EC8F720
# The bits of the float32 1.0, and the bits of a float32's fraction.
_ONE_BITS = 0x3F800000
_FRACTION_BITS = 0x7FFFFF
# The bits of the float64 1.0, and the fraction's 20 bits in the upper half.
_DOUBLE_ONE_BITS = 0x3FF0000000000000
_UPPER_FRACTION_BITS = 0xFFFFF
# A kernel reserves 256 blocks of four words for each Gamma number. Sixteen
# blocks suffice for at least fourteen attempts, each of which succeeds with 95%
# probability.
_RESERVED_BLOCKS = 256
_BLOCKS = 16
_SMALLEST = 1e-7


def _bits(shape: random_draws.Shape, seed: tf.Tensor) -> tf.Tensor:
  """Random uint32, the bits of `tf.random.stateless_uniform` with Philox."""
  scrambled = _philox([4], [_SCRAMBLING_KEY], tf.cast(seed, tf.uint64))
  words = tf.bitcast(tf.reshape(scrambled, [2, 2]), tf.uint64)
  # `tf.split` has no GPU kernel for uint64.
  return _philox(shape, words[:1], tf.concat([[0], words[1:]], axis=0))


def _philox(shape, key, counter) -> tf.Tensor:
  return tf.raw_ops.StatelessRandomUniformFullIntV2(
    shape=shape,
    key=tf.convert_to_tensor(key, tf.uint64),
    counter=counter,
    alg=_PHILOX,
    dtype=tf.uint32,
  )


def fold_in(seed: tf.Tensor, key: tf.Tensor) -> tf.Tensor:
  """Derives another seed from a seed and an int32 scalar."""
  return tf.stack([tf.bitcast(_bits([], seed), tf.int32), key])


def uniform(shape: random_draws.Shape, seed: tf.Tensor) -> tf.Tensor:
  """Draws float32 of a shape, in [0, 1)."""
  fraction = tf.bitwise.bitwise_and(_bits(shape, seed), _FRACTION_BITS)
  return (
    tf.bitcast(tf.bitwise.bitwise_or(fraction, _ONE_BITS), tf.float32) - 1.0
  )


def integers(
  shape: random_draws.Shape, seed: tf.Tensor, least: int, bound: tf.Tensor | int
) -> tf.Tensor:
  """Draws int32 of a shape, in [least, bound)."""
  number = tf.cast(tf.subtract(bound, least), tf.uint32)
  return tf.cast(_bits(shape, seed) % number, tf.int32) + least


def order(
  num_rows: tf.Tensor, seed: tf.Tensor, num_real: tf.Tensor
) -> tf.Tensor:
  """Draws the permutation of `random_draws.order` by a Fisher-Yates shuffle."""
  rows = tf.range(num_rows)
  num_following = tf.cast(tf.maximum(num_real - rows, 1), tf.uint32)
  others = rows + tf.cast(_bits([num_rows], seed) % num_following, tf.int32)

  def exchange(row: tf.Tensor, order: tf.Tensor) -> tuple[tf.Tensor, ...]:
    # In `others[row]`, XLA would treat the start of the slice, and all
    # operations before it, as constants, and would recompile for each seed.
    pair = tf.stack([row, tf.gather(others, row)])
    exchanged = tf.gather(order, tf.reverse(pair, [0]))
    # In place, so that the loop takes linear time.
    return row + 1, tf.tensor_scatter_nd_update(
      order, pair[:, tf.newaxis], exchanged
    )

  _, order = tf.while_loop(lambda row, _: row < num_rows, exchange, (0, rows))
  return order


class Attempts(NamedTuple):
  """The state of drawing Gamma numbers by rejection; fields are [number].

  A block is two uniform or two normal numbers, of which the second is used
  first. `normals` and `uniforms` are the indices of the last used numbers among
  the numbers of all blocks. `value` has the accepted numbers.
  """

  next_block: tf.Tensor
  normals: tf.Tensor
  uniforms: tf.Tensor
  value: tf.Tensor
  is_done: tf.Tensor


def gamma(
  number: tf.Tensor | int, seed: tf.Tensor, concentration: float
) -> tf.Tensor:
  """Draws float64 [number] from Gamma(concentration), concentration >= 1."""
  words = _bits([number, _RESERVED_BLOCKS, 4], seed)
  fractions = _to_doubles(words[:, :_BLOCKS])
  if concentration == 1.0:
    return -tf.math.log1p(-fractions[:, 0, 1])
  return _draw_gamma(fractions, concentration)


def _to_doubles(words: tf.Tensor) -> tf.Tensor:
  """Converts pairs of uint32 to float64 [number, blocks, 2] in [0, 1)."""
  upper, lower = tf.unstack(
    tf.cast(tf.reshape(words, [*words.shape[:-1], 2, 2]), tf.uint64), axis=-1
  )
  fraction = tf.bitwise.bitwise_or(
    tf.bitwise.left_shift(
      tf.bitwise.bitwise_and(upper, _UPPER_FRACTION_BITS),
      tf.constant(32, tf.uint64),
    ),
    lower,
  )
  ones = tf.bitwise.bitwise_or(fraction, _DOUBLE_ONE_BITS)
  return tf.bitcast(ones, tf.float64) - 1.0


def _draw_gamma(fractions: tf.Tensor, concentration: float) -> tf.Tensor:
  """Draws by the method of Marsaglia and Tsang, for a concentration above 1."""
  d = concentration - 1.0 / 3.0
  c = 1.0 / 3.0 / math.sqrt(d)
  number = fractions.shape[0]
  angles = 2 * math.pi * fractions[..., 1]
  radii = tf.sqrt(-2.0 * tf.math.log(tf.maximum(fractions[..., 0], _SMALLEST)))
  normals = tf.stack([radii * tf.sin(angles), radii * tf.cos(angles)], axis=-1)
  normals = tf.reshape(normals, [number, -1])
  uniforms = tf.reshape(fractions, [number, -1])

  def take(values, position, next_block, is_taken):
    """Takes the first value of the current block, or the second of the next."""
    is_used_up = tf.equal(position % 2, 0)
    is_new = is_taken & is_used_up
    taken = tf.where(is_used_up, 2 * next_block + 1, position - 1)
    return (
      tf.gather(values, taken, batch_dims=1),
      tf.where(is_taken, taken, position),
      next_block + tf.cast(is_new, tf.int32),
    )

  def attempt(state: Attempts) -> tuple[Attempts]:
    is_open = ~state.is_done
    x, normal, block = take(normals, state.normals, state.next_block, is_open)
    v, square = 1.0 + c * x, tf.square(x)
    is_positive = is_open & (v > 0.0)
    v *= v * v
    u, last_uniform, block = take(uniforms, state.uniforms, block, is_positive)
    is_accepted = is_positive & (
      (u < 1.0 - 0.0331 * square * square)
      | (tf.math.log(u) < 0.5 * square + d * (1.0 - v + tf.math.log(v)))
    )
    value = tf.where(is_accepted, d * v, state.value)
    is_done = state.is_done | is_accepted
    return (Attempts(block, normal, last_uniform, value, is_done),)

  start = Attempts(
    *[tf.zeros([number], tf.int32)] * 3,
    value=tf.zeros([number], tf.float64),
    is_done=tf.zeros([number], tf.bool),
  )
  (state,) = tf.while_loop(
    lambda state: ~tf.reduce_all(state.is_done), attempt, (start,)
  )
  return state.value
