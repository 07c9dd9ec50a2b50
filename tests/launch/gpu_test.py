# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests on GPUs, if any."""

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import tensorflow as tf

from benchmarks import federation as federation_lib
from tff_semifl import runtime

_SIZE = federation_lib.Size(
  model_depth=10,
  model_width=1,
  num_clients=3,
  images_per_client=12,
  num_labeled=20,
)
_GPUS = [device.name for device in tf.config.list_logical_devices('GPU')]


@absltest.skipUnless(_GPUS, 'TensorFlow finds no GPU on this machine.')
class GpuTest(parameterized.TestCase):
  def _run(self, federation, devices):
    """The weights after a round, and the memory of the first GPU."""
    tf.config.experimental.reset_memory_stats(_GPUS[0].removeprefix('/device:'))
    with runtime.simulation_context(devices=devices):
      state = federation.process.next(
        federation.initial_state(),
        federation.server_data(),
        federation.client_data(),
      ).state
    memory = tf.config.experimental.get_memory_info(
      _GPUS[0].removeprefix('/device:')
    )
    return state.global_model_weights, memory['peak']

  @parameterized.parameters(False, True)
  def test_round_is_that_of_the_cpu(self, jit_compile):
    federation = federation_lib.Federation(_SIZE, jit_compile=jit_compile)
    expected, memory_before = self._run(federation, ['/device:CPU:0'])
    found, memory = self._run(federation, _GPUS)
    initial = federation.classifier.initial_weights
    for weights, others, start in zip(
      found.trainable, expected.trainable, initial.trainable, strict=True
    ):
      step = np.linalg.norm(others - start)
      self.assertGreater(step, 0)
      # Other kernels add up in another order; rounding errors grow with steps.
      self.assertLess(np.linalg.norm(weights - others), 0.05 * step)
    # The GPU was used: the activations of a batch take more than a megabyte.
    self.assertGreater(memory - memory_before, 1e6)


if __name__ == '__main__':
  absltest.main()
