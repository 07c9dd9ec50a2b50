# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of the flagfiles for federated SGD in SemiFL's Figure 2.

What the paper and its authors' code have is written down here a second time:
Table 4, C.1, C.5, and the sizes of the epochs that the code takes (D55).
"""

from absl import flags
from absl.testing import absltest
from absl.testing import parameterized

from launch import plan
from launch import settings as settings_lib
from launch import systems
from tests.launch import flagfile_cells

_FOLDER = flagfile_cells.ROOT / 'launch' / 'flagfiles'
_COMMON = {
  'task': 'cifar10',
  'num_labeled': 4000,
  'num_clients': 100,
  'client_batch_size': 10,
  'server_batch_size': 250,
  'confidence_threshold': 0.95,
  'learning_rate': 0.03,
  'momentum': 0.9,
  'weight_decay': 5e-4,
  'clip_norm': 1,
  'model': 'wide_resnet',
  'model_depth': 28,
  'model_width': 2,
  'normalization': 'static_batch',
  'batch_norm_statistics': 'pooled',
  'strong_augmentation': 'semifl',
  'benchmark_views': False,
}
_SIZE_OF_A_CLIENT = (50_000 - 4000) // 100
_TURNS_PER_EPOCH = _SIZE_OF_A_CLIENT // 10
_STEPS_PER_EPOCH = 100 * _TURNS_PER_EPOCH // 10
_OWN = {
  'fedsgd_fixmatch': {
    'clients_per_round': 10,
    'total_rounds': 800 * _STEPS_PER_EPOCH,
    'rounds_per_evaluation': _STEPS_PER_EPOCH,
  },
  'fedsgd_fixmatch_as_in_semifl': {
    'clients_per_step': 10,
    'total_rounds': 800,
  },
}
_SYSTEMS = (systems.FEDSGD_FIXMATCH, systems.FEDSGD_FIXMATCH_AS_IN_SEMIFL)
_SHARINGS = ('classes2', 'iid')


class FlagfilesTest(parameterized.TestCase):
  @parameterized.product(system=_SYSTEMS)
  def test_there_is_one_for_each_curve_and_no_other(self, system):
    self.assertCountEqual(
      [path.name for path in (_FOLDER / system.name).iterdir()],
      [f'cifar10_4000_{sharing}.flags' for sharing in _SHARINGS],
    )

  @parameterized.product(system=_SYSTEMS, sharing=_SHARINGS)
  def test_flags_mean_the_curve_and_none_is_refused(self, system, sharing):
    name = f'cifar10_4000_{sharing}'
    path = _FOLDER / system.name / f'{name}.flags'
    self.assertStartsWith(
      path.read_text(), '# No number: FedSGD + FixMatch, CIFAR-10, 4000 labels'
    )
    with flagfile_cells.flags_of(path):
      system.check_flags()
      settings = settings_lib.resolve(system)
      values = settings_lib.all_flags(system, settings)
      present = {name for name in values if flags.FLAGS[name].present}
      described = plan.describe(
        flagfile_cells.create_experiment(system, 'cifar10')
      )
    expected = _COMMON | _OWN[system.name] | flagfile_cells.PARTITIONS[sharing]
    expected['output_dir'] = f'results/{system.name}/{name}'
    self.assertEqual({name: values[name] for name in present}, expected)
    used = {name for name in values if values[name] is not None}
    self.assertEmpty(used - flagfile_cells.NOT_THE_CELLS - expected.keys())
    steps = (
      described['server_steps_per_round'],
      described['steps_of_a_client_per_round_at_most'],
      described['clients_per_round'],
    )
    if system is systems.FEDSGD_FIXMATCH:
      self.assertEqual(steps, (1, 1, 10))
    else:
      self.assertEqual(steps, (_STEPS_PER_EPOCH, _TURNS_PER_EPOCH, 100))


if __name__ == '__main__':
  absltest.main()
