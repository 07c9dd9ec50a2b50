# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests that portable draws equal the draws of TensorFlow's kernels."""

from absl.testing import parameterized
import numpy as np
import tensorflow as tf

from tff_semifl.randomness import portable_draws
from tff_semifl.randomness import random_draws

# Seeds of both signs: XLA's own generator changes negative seeds.
_SEEDS = ((0, 0), (123, -456), (-7, 8), (-(2**31), 2**31 - 1))
# The last number has more words than a block of the generator.
_DRAWS = {
  'fold_in': lambda seed: random_draws.fold_in(seed, -3),
  'uniform': lambda seed: random_draws.uniform([7, 3], seed),
  'integers': lambda seed: random_draws.integers([23], seed, least=-4, bound=9),
  'order': lambda seed: random_draws.order(tf.constant(23), seed),
  'order_of_some': lambda seed: random_draws.order(
    tf.constant(23), seed, tf.constant(9)
  ),
}


def _draw(draw, *, jit_compile):
  @tf.function(
    input_signature=[tf.TensorSpec([2], tf.int32)],
    autograph=False,
    jit_compile=jit_compile,
  )
  def run(seed):
    with random_draws.drawing_by(portable_draws):
      return draw(seed)

  return run


class PortableDrawsTest(parameterized.TestCase):
  @parameterized.product(name=list(_DRAWS), jit_compile=[False, True])
  def test_equals_the_kernel(self, name, jit_compile):
    draw = _DRAWS[name]
    portable = _draw(draw, jit_compile=jit_compile)
    for seed in map(tf.constant, _SEEDS):
      np.testing.assert_array_equal(portable(seed), draw(seed))

  @parameterized.parameters(
    # 1 + 1e-17 is rounded to 1, for which Gamma numbers are drawn in another
    # way.
    (1e-17, False),
    (0.75, True),
  )
  def test_beta(self, concentration, jit_compile):
    def draw(seed):
      return random_draws.beta(3, seed, concentration=concentration)

    portable = _draw(draw, jit_compile=jit_compile)
    # At most one attempt in twenty fails, so that some draws need several
    # attempts.
    for number in range(0, 60, 2):
      seed = tf.constant([number - 30, 977 * number])
      # Computed in double precision, in which functions may differ in the last
      # digit, and rounded to float32.
      np.testing.assert_allclose(
        portable(seed), draw(seed), rtol=np.finfo(np.float32).eps
      )

  @parameterized.parameters('uniform', 'integers', 'beta')
  def test_first_numbers_do_not_depend_on_how_many_are_drawn(self, name):
    def draw(number):
      seed = tf.constant([5, 6])
      if name == 'uniform':
        return random_draws.uniform([number, 3], seed)
      if name == 'beta':
        return random_draws.beta(number, seed, concentration=0.75)
      return random_draws.integers([number, 3], seed, least=0, bound=1000)

    np.testing.assert_array_equal(draw(40)[:7], draw(7))


if __name__ == '__main__':
  tf.test.main()
