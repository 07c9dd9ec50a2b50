# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of counts of operations, kernels, bytes and arithmetic."""

from absl.testing import absltest
import numpy as np
import pytest
import tensorflow as tf

from benchmarks import compiled_step
from benchmarks import executed_operations
from benchmarks import federation as federation_lib
from benchmarks import paper_cell
from benchmarks import turn_counts
from tests import small_digits

_FLOAT = 4


class ExecutedOperationsTest(absltest.TestCase):
  def test_further_iterations_are_counted(self):
    @tf.function
    def repeat(matrix, number):
      _, _, result = tf.while_loop(
        lambda i, *_: i < number,
        lambda i, matrix, vector: (
          i + 1,
          matrix,
          tf.linalg.matvec(matrix, vector),
        ),
        (0, tf.exp(matrix), tf.ones([3])),
      )
      return result

    function = repeat.get_concrete_function(
      tf.TensorSpec([3, 3]), tf.TensorSpec([], tf.int32)
    )
    matrix = np.eye(3, dtype=np.float32)
    executed = executed_operations.count_added(
      function, [matrix, np.int32(2)], [matrix, np.int32(7)]
    )
    # Five products, which read 12 numbers and write three. The exponential is
    # the same for both.
    self.assertEqual(executed.num_arithmetic, 5)
    # Two counters, ours and TensorFlow's, are increased: three integers. One is
    # compared: two integers and a truth value. Views move nothing.
    self.assertEqual(
      executed.num_bytes, 5 * (15 * _FLOAT + 2 * 3 * 4 + 2 * 4 + 1)
    )


class CompiledStepTest(absltest.TestCase):
  def test_arithmetic_of_a_real_program(self):
    @tf.function(jit_compile=True)
    def train(images, kernel, matrix):
      def step(i, kernel, matrix):
        with tf.GradientTape() as tape:
          tape.watch(kernel)
          features = tf.nn.conv2d(images, kernel, 1, 'VALID')
          loss = tf.reduce_sum(tf.square(features))
        return i + 1, kernel - tape.gradient(loss, kernel), matrix @ matrix

      # What is computed before the loop is none of its steps.
      return tf.while_loop(
        lambda i, *_: i < 4, step, (0, kernel, tf.matmul(matrix, matrix))
      )

    arguments = [tf.ones(shape) for shape in _SHAPES]
    step = compiled_step.count(
      train.experimental_get_compiler_ir(*arguments)(stage='optimized_hlo')
    )
    self.assertEqual(step.kernels['convolution'], 2)
    self.assertEqual(step.kernels['dot'], 1)
    # Forward, each of 2x4x4x5 numbers is a sum of 3x3x3 products; back, each of
    # 3x3x3x5 is one of 2x4x4; then 5x5 of 5.
    self.assertEqual(step.num_flops, 2 * (160 * 27 + 135 * 32 + 25 * 5))
    # At least what these three read and write.
    self.assertGreaterEqual(
      step.num_bytes, _FLOAT * (2 * (216 + 135 + 160) + 3 * 25)
    )

  def test_loops_calls_and_zeros_of_strides(self):
    step = compiled_step.count(_PROGRAM)
    self.assertEqual(
      step.kernels, {'convolution': 1, 'fusion': 1, 'copy': 3, 'compare': 3}
    )
    # 1x4x4x2 sums of 1x1x3 products, of which each second row and each second
    # column has zeros.
    self.assertEqual(step.num_flops, 2 * 32 * 3 // 4)
    convolution = 1 * 2 * 2 * 3 + 1 * 1 * 2 * 3 + 1 * 4 * 4 * 2
    self.assertEqual(
      step.num_bytes,
      # The fusion halves its bytes; a copy has one float and a comparison two
      # integers and a truth value.
      _FLOAT * convolution + 32 * (4 + 2) + 3 * 2 * 4 + 3 * (2 * 4 + 1),
    )

  def test_program_without_training(self):
    with self.assertRaisesRegex(ValueError, 'no loop that trains'):
      compiled_step.count('ENTRY %main (a: f32[]) -> f32[] {\n}\n')


@pytest.mark.slow
class TurnCountsTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.enter_context(small_digits.without_wide_resnet())

  def test_step(self):
    size = federation_lib.Size(
      model_depth=10, model_width=1, images_per_client=20
    )
    measured = turn_counts.measure(1, size)
    values = {name: value for name, [value] in measured.values.items()}
    # The model is a convolution, of 15x15x4 sums of 3x3x3 products, and a
    # matrix of 900x10. It sees ten views and ten mixtures, forward and back:
    # all products there are but those for gradients of pixels.
    convolution, matrix = 15 * 15 * 4 * 27, 15 * 15 * 4 * 10
    self.assertEqual(
      1e9 * values['billions of floating point operations'],
      2 * 20 * (2 * convolution + 3 * matrix),
    )
    self.assertEqual(
      values['XLA: kernels'],
      values['XLA: fusions']
      + values['XLA: convolutions and products']
      + values['XLA: other kernels'],
    )
    self.assertEqual(values['XLA: convolutions and products'], 2 * (2 + 3))
    self.assertGreater(
      values['dynamic: operations'],
      values['dynamic: operations on floating point numbers'],
    )
    # Two convolutions, three products, losses; and more for each of 6 arrays.
    for form in ('dynamic', 'static'):
      self.assertGreater(
        values[f'{form}: operations on floating point numbers'], 2 * 5 + 6 * 4
      )
    # Ten clients together, less than twice what a client needs alone.
    name = 'operations on floating point numbers'
    self.assertLess(
      values[f'static: {name}'], values[f'10 clients at once: {name}']
    )
    self.assertLess(
      values[f'10 clients at once: {name}'], 2 * values[f'static: {name}']
    )
    # Features are written and read, forward and back.
    least = 4 * 20 * 15 * 15 * 4 * _FLOAT / 1e6
    for form, number in (
      ('dynamic', 1),
      ('static', 1),
      ('10 clients at once', 10),
      ('XLA', 1),
    ):
      self.assertGreater(
        values[f'{form}: megabytes read and written'], number * least
      )
    estimated = turn_counts.estimate(1, size).values
    launches = values['XLA: kernels']
    np.testing.assert_allclose(
      estimated['XLA: ms a step'], [5e-3 * launches, 10e-3 * launches]
    )
    # Ten clients take their steps together.
    launches_at_once = values[f'10 clients at once: {name}']
    np.testing.assert_allclose(
      estimated['10 clients at once: ms a step'],
      [5e-3 * launches_at_once, 10e-3 * launches_at_once],
    )
    np.testing.assert_allclose(
      estimated['10 clients at once: hours of all steps'],
      [800 * 5 * 46 * launches_at_once * each / 3600 for each in (5e-6, 10e-6)],
    )
    # 800 rounds of ten clients with five epochs of 46 batches.
    np.testing.assert_allclose(
      estimated['XLA: hours of all steps'],
      [800 * 10 * 5 * 46 * launches * each / 3600 for each in (5e-6, 10e-6)],
    )


class PaperCellTest(absltest.TestCase):
  def test_size(self):
    cell = paper_cell.read()
    size = cell.size
    self.assertEqual((size.model_depth, size.model_width), (28, 2))
    # A hundred clients share what the server has no label of.
    self.assertEqual(size.num_labeled + 100 * size.images_per_client, 50_000)
    self.assertEqual(
      cell.num_client_steps, cell.num_rounds * size.num_clients * 5 * 46
    )


_SHAPES = [2, 6, 6, 3], [3, 3, 3, 5], [5, 5]
# A loop of steps with a loop of three iterations in it.
_PROGRAM = """
%fused (p: f32[1,4,4,2]) -> bf16[1,4,4,2] {
  %p = f32[1,4,4,2] parameter(0)
  ROOT %c = bf16[1,4,4,2] convert(f32[1,4,4,2] %p)
}

%called (q: f32[1,4,4,2]) -> bf16[1,4,4,2] {
  %q = f32[1,4,4,2] parameter(0)
  ROOT %f = bf16[1,4,4,2] fusion(f32[1,4,4,2] %q), kind=kLoop, calls=%fused
}

%few (r: (s32[], f32[])) -> (s32[], f32[]) {
  %r = (s32[], /*index=1*/f32[]) parameter(0)
  %g = f32[] get-tuple-element((s32[], /*index=1*/f32[]) %r), index=1
  %h = f32[] copy(f32[] %g)
  %i = s32[] get-tuple-element((s32[], /*index=1*/f32[]) %r), index=0
  ROOT %t = (s32[], f32[]) tuple(s32[] %i, f32[] %h)
}

%until (u: (s32[], f32[])) -> pred[] {
  %u = (s32[], f32[]) parameter(0)
  %j = s32[] get-tuple-element((s32[], f32[]) %u), index=0
  %k = s32[] constant(3)
  ROOT %l = pred[] compare(s32[] %j, s32[] %k), direction=LT
}

%steps (s: (s32[], f32[])) -> (s32[], f32[]) {
  %s = (s32[], f32[]) parameter(0)
  %a = f32[1,2,2,3] constant({...})
  %b = f32[1,1,2,3] constant({...})
  %v = f32[1,4,4,2] convolution(f32[1,2,2,3] %a, f32[1,1,2,3] %b), window={size=1x1 pad=0_1x0_1 lhs_dilate=2x2}, dim_labels=b01f_01oi->b01f, metadata={op_name="call(x)"}
  %w = bf16[1,4,4,2] call(f32[1,4,4,2] %v), to_apply=%called
  ROOT %x = (s32[], f32[]) while((s32[], f32[]) %s), condition=%until, body=%few, backend_config={"known_trip_count":{"n":"3"}}
}

ENTRY %main (y: (s32[], f32[])) -> (s32[], f32[]) {
  %y = (s32[], f32[]) parameter(0)
  ROOT %z = (s32[], f32[]) while((s32[], f32[]) %y), condition=%until, body=%steps
}
"""  # noqa: E501


if __name__ == '__main__':
  absltest.main()
