# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests that a training program that takes indices computes the same."""

import asyncio
import pathlib

from absl.testing import absltest
import numpy as np
import pytest
import tensorflow as tf
import tensorflow_federated as tff

from tests.runs import linear_program
from tff_semifl import runtime
from tff_semifl.runs import checkpoints
from tff_semifl.runs import training


class ByReferenceTest(absltest.TestCase):
  def _train(self, program):
    """Returns all numbers of rounds 0 to 2, and of the state at the end."""
    folder = self.create_tempdir().full_path
    rows = []
    final = asyncio.run(
      training.train(
        program,
        checkpoints=checkpoints.Checkpoints(
          pathlib.Path(folder, 'states'), num_kept=3
        ),
        metrics_manager=tff.program.MemoryReleaseManager(),
        memories=linear_program.create_memories(program, folder, num_kept=1),
        on_start=lambda _: None,
        on_round=lambda _, metrics: rows.append(metrics._replace(seconds=0)),
      )
    )
    self.assertLen(rows, 3)
    self.assertGreater(rows[-1].client.label_ratio, 0)
    self.assertGreater(rows[-1].client.pseudo_accuracy, 0)
    return list(map(np.asarray, tf.nest.flatten((rows, final))))

  def _assert_same(self, first, second):
    for a, b in zip(first, second, strict=True):
      np.testing.assert_array_equal(a, b)

  @pytest.mark.slow
  def test_worker_computes_the_same_to_the_last_bit(self):
    by_value, by_reference = (
      linear_program.create_program(
        2,
        is_by_reference=is_by_reference,
        has_federated_statistics=True,
        keep_client_momentum=True,
      )
      for is_by_reference in (False, True)
    )
    with runtime.simulation_context('native'):
      native = self._train(by_value)
      self._assert_same(native, self._train(by_reference))
    with runtime.simulation_context():
      in_process = self._train(by_value)
    for a, b in zip(in_process, native, strict=True):
      np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)

  @pytest.mark.slow
  def test_this_process_computes_the_same_to_the_last_bit(self):
    with runtime.simulation_context():
      self._assert_same(
        *(
          self._train(
            linear_program.create_program(2, is_by_reference=is_by_reference)
          )
          for is_by_reference in (False, True)
        )
      )

  def test_types_have_indices_for_images_and_labels_where_they_were(self):
    program = linear_program.create_program(2, is_by_reference=True)
    for computation, expected in (
      (
        program.process.next,
        ',server_data=<image=int64[?],label=int32[?]>*@SERVER,'
        'client_data={<client_id=int32,image=int64[?]>*}@CLIENTS> ->',
      ),
      (
        program.evaluation,
        ',dataset=<image=int64[?],label=int32[?]>*@SERVER> ->',
      ),
    ):
      self.assertIn(
        expected, computation.type_signature.compact_representation()
      )


if __name__ == '__main__':
  absltest.main()
