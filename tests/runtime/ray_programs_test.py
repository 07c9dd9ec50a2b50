# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of dividing a computation into programs, without a cluster."""

from absl.testing import absltest
import numpy as np
import tensorflow as tf
import tensorflow_federated as tff
from tensorflow_federated.proto.v0 import computation_pb2

from tff_semifl import runtime
from tff_semifl.privacy import means
from tff_semifl.privacy import privacy_key
from tff_semifl.runtime import cohorts
from tff_semifl.runtime import graph_functions
from tff_semifl.runtime import in_process
from tff_semifl.runtime import interpreter
from tff_semifl.runtime import values
from tff_semifl.runtime.ray import programs as ray_programs

# The operation that has the key of the noise.
_KEYED = b'StringToHashBucketStrong'


def _find_programs(computation, argument):
  """The block of a computation, and its programs."""
  programs = []

  def run(program, scope, at_server=False):
    del scope, at_server
    programs.append(program)
    yield from ()

  block = in_process.compile_to_block(computation)
  evaluate = ray_programs.build_evaluate(
    block, graph_functions.GraphFunctionCache(), run
  )
  scope = interpreter.Scope(cohorts.Cohort(0, cohorts.ClientPool()), {})
  parameter_type = computation.type_signature.parameter
  evaluate(scope)(values.embed(argument, parameter_type))
  return block, programs


def _run_without(absent, computation, argument):
  """The result of a computation if the first clients drop out."""
  cohort = cohorts.Cohort(len(argument), cohorts.ClientPool())

  def run(program, scope):
    cohort = scope.cohort
    inputs = [evaluate(scope) for evaluate in program.inputs]
    proto = computation_pb2.Computation.FromString(program.content)
    block = tff.framework.ComputationBuildingBlock.from_proto(proto)
    function = interpreter.build_evaluate(
      block, graph_functions.GraphFunctionCache()
    )(interpreter.Scope(cohort, {}))
    for client in cohort.present():
      if client in absent:
        yield None
      else:
        yield function([cohort.members(each)[client] for each in inputs])

  evaluate = ray_programs.build_evaluate(
    in_process.compile_to_block(computation),
    graph_functions.GraphFunctionCache(),
    run,
  )
  function_type = computation.type_signature
  result = evaluate(interpreter.Scope(cohort, {}))(
    values.embed(argument, function_type.parameter)
  )
  return list(values.extract(result, function_type.result))


class StagesTest(absltest.TestCase):
  def test_key_of_the_noise_stays_here(self):
    factory = means.PrivateMean(noise_multiplier=1.0).build(
      clients_per_round=2, key=privacy_key.PrivacyKey(bytes(32))
    )
    mean = factory.create(tff.TensorType(np.float32, [3]))
    with runtime.simulation_context():
      state = mean.initialize()
    block, programs = _find_programs(mean.next, (state, []))
    self.assertIn(_KEYED, block.proto.SerializeToString())
    self.assertNotEmpty(programs)
    for program in programs:
      self.assertNotIn(_KEYED, program.content)

  def test_client_that_drops_out_is_in_no_sum(self):
    float_at_clients = tff.FederatedType(np.float32, tff.CLIENTS)
    double = tff.tensorflow.computation(lambda x: 2 * x, np.float32)

    @tff.federated_computation(float_at_clients)
    def work(numbers):
      doubled = tff.federated_map(double, numbers)
      mean = tff.federated_mean(doubled)
      both = tff.federated_zip((doubled, tff.federated_broadcast(mean)))
      count = tff.federated_sum(tff.federated_value(1.0, tff.CLIENTS))
      return mean, count, tff.federated_sum(both), doubled

    numbers = [1.0, 5.0, 3.0, 7.0]
    for absent in ({1}, {0, 3}, {0, 1, 2, 3}):
      found = _run_without(absent, work, numbers)
      others = [x for i, x in enumerate(numbers) if i not in absent]
      with runtime.simulation_context():
        expected = work(others)
      np.testing.assert_equal(found[:3], list(expected)[:3])
      self.assertEqual(
        found[3],
        [None if i in absent else 2 * x for i, x in enumerate(numbers)],
      )

  def test_python_code_of_a_client_cannot_be_sent_away(self):
    @tff.tensorflow.computation(np.int32)
    def work(x):
      return tf.ensure_shape(
        tf.numpy_function(lambda x: x + 1, [x], tf.int32), []
      )

    @tff.federated_computation(tff.FederatedType(np.int32, tff.CLIENTS))
    def work_at_clients(x):
      return tff.federated_sum(tff.federated_map(work, x))

    with self.assertRaisesRegex(runtime.NotPortableError, 'tf.numpy_function'):
      _find_programs(work_at_clients, [1])


if __name__ == '__main__':
  absltest.main()
