# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests that both runtimes fail where TFF fails, and name the reason.

Errors have other types where TFF's worker finds them: it speaks gRPC, and its
errors are those of gRPC.
"""

from absl.testing import parameterized
import grpc
import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

from tests.runtime import agreement
from tff_semifl import runtime

_INTS = tff.FederatedType(np.int32, tff.CLIENTS)
_KEYS = tff.FederatedType(tff.TensorType(np.int32, [1]), tff.CLIENTS)
_replace = tff.backends.test.replace_secure_intrinsics_with_bodies


@tff.federated_computation(_INTS)
def _secure_sum(value):
  return tff.federated_secure_sum(value, 3)


@tff.federated_computation(_INTS)
def _secure_sum_bitwidth(value):
  return tff.federated_secure_sum_bitwidth(value, 2)


@tff.federated_computation(_INTS)
def _secure_modular_sum(value):
  return tff.backends.mapreduce.federated_secure_modular_sum(value, 4)


@tff.federated_computation(_INTS)
def _secure_sum_of_a_constant(value):
  del value
  return tff.federated_secure_sum(tff.federated_value(1, tff.CLIENTS), 1)


@tff.federated_computation(_KEYS)
def _secure_select(keys):
  selected = tff.federated_secure_select(
    keys,
    tff.federated_value(2, tff.SERVER),
    tff.federated_value([5, 6], tff.SERVER),
    tff.tensorflow.computation(lambda table, key: table[0] + key),
  )
  return tff.federated_map(
    tff.tensorflow.computation(lambda rows: rows.reduce(0, tf.add)), selected
  )


class TffErrorsTest(agreement.AgreementTestCase):
  def _assert_both_raise(self, error_types, regex, computation, *args):
    for context, error_type in zip(
      (self.in_process, self.native), error_types, strict=True
    ):
      with self.use(context), self.assertRaisesRegex(error_type, regex):
        computation(*args)

  @parameterized.named_parameters(
    ('sum', _secure_sum, [1, 2]),
    ('sum_bitwidth', _secure_sum_bitwidth, [1, 2]),
    ('modular_sum', _secure_modular_sum, [1, 2]),
    ('of_a_constant', _secure_sum_of_a_constant, [1, 2]),
  )
  def test_secure_sum_is_refused_with_advice(self, computation, values):
    self._assert_both_raise(
      [NotImplementedError] * 2,
      'federated_secure_.*no secure aggregation in a simulation.*'
      'replace_secure_intrinsics_with_bodies',
      computation,
      values,
    )

  def test_secure_select_is_refused_with_advice(self):
    self._assert_both_raise(
      [NotImplementedError] * 2,
      'federated_secure_select.*Use `tff.federated_select`',
      _secure_select,
      [[0], [1]],
    )

  @parameterized.named_parameters(
    # 1 + 2, and modulo 4 for 3 + 2.
    ('sum', _secure_sum, [1, 2], 3),
    ('sum_bitwidth', _secure_sum_bitwidth, [1, 2], 3),
    ('modular_sum', _secure_modular_sum, [3, 2], 1),
    # The first of 5 and 6, and the key.
    ('select', _secure_select, [[0], [1]], [5, 6]),
  )
  def test_advice_helps(self, computation, values, expected):
    self.assertEqual(self.assert_agree(_replace(computation), values), expected)

  def test_secure_sum_that_nothing_depends_on_is_no_error(self):
    @tff.federated_computation(_INTS)
    def add(value):
      tff.federated_secure_sum(value, 3)
      return tff.federated_sum(value)

    self.assertEqual(self.assert_agree(add, [4, 5]), 9)

  def test_maximum_of_a_secure_sum_holds_in_the_clear(self):
    self._assert_both_raise(
      [runtime.ComputationError, grpc.RpcError],
      r'larger than maximum specified for secure sum\] \[4\].*\[3\]',
      _replace(_secure_sum),
      [3, 4],
    )

  def test_jax_is_refused(self):
    add_one = tff.jax.computation(lambda x: x + 1, np.int32)
    with self.use(self.in_process):
      with self.assertRaisesRegex(
        NotImplementedError, "'xla'.*Write it with `tff.tensorflow.computation`"
      ):
        add_one(1)
    with self.use(self.native), self.assertRaises(grpc.RpcError):
      add_one(1)

  def test_conflicting_cardinalities(self):
    @tff.federated_computation(_INTS, _INTS)
    def add(one, other):
      return tff.federated_sum(one), tff.federated_sum(other)

    self._assert_both_raise(
      [ValueError] * 2, 'Conflicting cardinalities', add, [1, 2], [1, 2, 3]
    )


if __name__ == '__main__':
  tf.test.main()
