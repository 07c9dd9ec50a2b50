# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests that presets come to the sizes and steps of the papers' experiments.

Those of SemiFL are in C.1, A.3 and A.9, those of Zhang et al. in E.1.
"""

import json
import math
import re

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import pytest

from tests import forked_programs
from tests.data import tfds_files
from tests.experiment import preset_cells
from tests.experiment import semifl_cells
from tff_semifl.data import skewed_partition
from tff_semifl.data import sources
from tff_semifl.experiment import plan
from tff_semifl.experiment import presets

# Without the demonstration's preset, which is of no paper.
_ONE_OF_EACH_SYSTEM = {
  name.partition('/')[0]: name
  for name in presets.names()
  if 'digits' not in name
}.values()
# Five epochs of the server (A.3).
_SERVER_STEPS = {
  ('cifar10', 250): 125,
  ('cifar10', 4000): 80,
  ('svhn', 250): 125,
  ('svhn', 1000): 20,
  ('cifar100', 2500): 50,
  ('cifar100', 10_000): 200,
}
# Images of each client, if all have as many (C.5).
_IID_SIZES = {
  ('cifar10', 250): 497,
  ('cifar10', 4000): 460,
  ('svhn', 250): 730,
  ('svhn', 1000): 722,
  ('cifar100', 2500): 475,
  ('cifar100', 10_000): 400,
}


def _client_sizes(cell):
  """Returns how many images each client has, derived without any preset."""
  task, num_labeled, sharing, *_ = cell.name.partition('/')[2].split('_')
  if sharing == 'iid':
    return [_IID_SIZES[task, int(num_labeled)]] * 100
  # The sizes follow from how many unlabeled images of each class there are,
  # and from the seed.
  class_sizes = preset_cells.CLASS_SIZES[task]
  num_classes = len(class_sizes)
  labels = np.repeat(
    np.arange(num_classes),
    np.array(class_sizes) - int(num_labeled) // num_classes,
  )
  if sharing == 'classes2':
    shares = skewed_partition.partition_classes(labels, num_classes, 2, 100, 0)
  else:
    concentration = {'dirichlet0.1': 0.1, 'dirichlet0.3': 0.3}[sharing]
    shares = skewed_partition.partition_dirichlet(labels, concentration, 100, 0)
  return [len(share) for share in shares]


class PresetStepsTest(parameterized.TestCase):
  @parameterized.named_parameters(
    preset_cells.with_names(
      cell
      for cell in semifl_cells.CELLS
      if re.fullmatch(
        r'semifl/(\w+_iid|cifar10_250_[a-z.\d]+|\w+_one_epoch)', cell.name
      )
    )
  )
  def test_steps_of_semifl_are_those_of_the_paper(self, cell):
    experiment = preset_cells.create_experiment(cell.name)
    epochs = 1 if 'one_epoch' in cell.name else 5
    key = cell.settings['task'], cell.settings['num_labeled']
    sizes = _client_sizes(cell)
    self.assertEqual(experiment.clients.num_images, sizes)
    self.assertEqual(
      preset_cells.count_steps(plan.describe(experiment)),
      (
        _SERVER_STEPS[key] * epochs // 5,
        epochs * max(math.ceil(size / 10) for size in sizes),
      ),
    )

  @parameterized.parameters(
    # 4,000 labels in batches of 250: 16 an epoch.
    ('labels_alone/cifar10_4000', 16, 0),
    # 1,000 labels in batches of 250, as in SemiFL's Table 4 (D33).
    ('labels_alone/svhn_1000', 4, 0),
    ('all_labels/cifar10', 200, 0),
    # However many images there are.
    ('fixmatch/cifar10_250', 1024, 0),
    ('mixmatch/cifar100_10000', 1024, 0),
    # 500 images of a client in batches of ten, five epochs.
    ('supervised_fedavg/cifar10_iid', 0, 250),
    # 460 steps.
    ('fedrgd_as_in_semifl/cifar10_4000_iid', 80, 230),
    ('fedavg_fixmatch/cifar10_4000_iid', 80, 230),
  )
  def test_steps_of_baselines(self, name, server, client):
    self.assertEqual(
      preset_cells.count_steps(preset_cells.describe(name)), (server, client)
    )

  @parameterized.product(
    system=('fedsgd_fixmatch', 'fedsgd_fixmatch_as_in_semifl'),
    sharing=('classes2', 'iid'),
  )
  def test_steps_of_federated_sgd(self, system, sharing):
    described = preset_cells.describe(f'{system}/cifar10_4000_{sharing}')
    steps, num_clients = (1, 1), 10
    if system == 'fedsgd_fixmatch_as_in_semifl':
      # A round is an epoch of all clients (D55).
      steps = (
        semifl_cells.FEDSGD_STEPS_PER_EPOCH,
        semifl_cells.FEDSGD_TURNS_PER_EPOCH,
      )
      num_clients = 100
    self.assertEqual(preset_cells.count_steps(described), steps)
    self.assertEqual(described['clients_per_round'], num_clients)

  @parameterized.parameters(*_ONE_OF_EACH_SYSTEM)
  def test_dry_run_of_each_system(self, name):
    system_name = name.partition('/')[0]
    described = preset_cells.describe(name)
    num_images = sum(preset_cells.CLASS_SIZES[described['flags']['task']])
    num_unlabeled = num_images - described['labeled_images']
    if system_name == 'labels_alone':
      num_unlabeled = 0
    self.assertEqual(described['unlabeled_images'], num_unlabeled)
    if described['clients']:
      if described['flags'].get('partition') == 'iid':
        # Clients have equally many; the remainder has no client (C.5).
        num_unlabeled -= num_unlabeled % described['clients']
      self.assertEqual(described['unlabeled_images_at_clients'], num_unlabeled)
      self.assertBetween(
        described['clients_per_round'], 1, described['clients']
      )
    server_steps, client_steps = preset_cells.count_steps(described)
    # A server without labels takes no steps.
    self.assertEqual(
      server_steps > 0,
      described['labeled_images'] > 0 and system_name != 'data_sharing',
    )
    self.assertEqual(client_steps > 0, described['clients'] > 0)

  @parameterized.parameters((10, 5), (20, 3), (47, 1))
  def test_users_of_table_g1_have_several_main_classes(self, users, num_each):
    """D32: ceil(47 / K) each."""
    described = preset_cells.describe(
      f'supervised_averaging/emnist_k{users}_c{users}_t16_r0.4'
    )
    # Equal classes of 2300 images, but for rounding.
    self.assertAlmostEqual(
      described['images_per_client']['most'], num_each * 2300, delta=47
    )

  @pytest.mark.slow
  def test_the_real_program_takes_one(self):
    labels = np.arange(400, dtype=np.int32) % 10
    images = tfds_files.random_cifar10(400, seed=0).images
    data = sources.LabeledImages(images, labels)
    data_dir = self.create_tempdir().full_path
    tfds_files.write_cifar10(data_dir, {'train': data, 'test': data})
    completed = forked_programs.run(
      'launch.train',
      'semifl',
      # A flag counts for more than a preset, wherever it stands.
      '--model_depth=10',
      '--preset=semifl/cifar10_250_iid',
      '--dry_run',
      f'--data_dir={data_dir}',
    )
    self.assertEqual(completed.returncode, 0, completed.stderr)
    described = json.loads(completed.stdout)
    self.assertEqual(described['labeled_images'], 250)
    self.assertEqual(described['server_steps_per_round'], 125)
    # 150 images for 100 clients.
    self.assertEqual(described['images_per_client'], {'least': 1, 'most': 1})
    self.assertEqual(described['flags']['batch_norm_statistics'], 'pooled')
    self.assertEqual(described['flags']['model_depth'], 10)
    self.assertEqual(
      described['flags']['output_dir'], 'results/semifl/cifar10_250_iid'
    )


if __name__ == '__main__':
  absltest.main()
