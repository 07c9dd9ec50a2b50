# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests that types are read correctly, and equal ones once."""

from unittest import mock

from absl.testing import absltest
import numpy as np
import tensorflow_federated as tff
from tensorflow_federated.python.core.impl.types import type_serialization

from tff_semifl.runtime import compiler

_TYPE = tff.to_type([('a', np.float32), ('b', (np.int32, [3]))])


@tff.federated_computation(tff.FederatedType(_TYPE, tff.SERVER))
def _swap(value):
  return value.b, value.a


class TypeReadingTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self._read = type_serialization.deserialize_type

  def _count_reads(self):
    """Returns a block of the computation, and how often a type was read."""
    with mock.patch.object(
      type_serialization, 'deserialize_type', side_effect=self._read
    ) as read:
      with compiler.equal_types_once():
        block = _swap.to_building_block()
    contents = [
      call.args[0].SerializeToString(deterministic=True)
      for call in read.call_args_list
    ]
    return block, contents

  def test_each_once(self):
    block, contents = self._count_reads()
    self.assertCountEqual(contents, set(contents))
    self.assertIn(
      type_serialization.serialize_type(_TYPE).SerializeToString(
        deterministic=True
      ),
      contents,
    )
    expected = _swap.to_building_block()
    self.assertEqual(repr(block), repr(expected))
    self.assertIs(block.type_signature, expected.type_signature)


if __name__ == '__main__':
  absltest.main()
