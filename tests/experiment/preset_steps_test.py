# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests that presets have the sizes and steps of the papers' experiments."""

from absl.testing import absltest
from absl.testing import parameterized

from tests.experiment import preset_cells
from tff_semifl.experiment import presets

# Systems with labels at the server, in one place, or at clients.
_SYSTEMS = (
  'semifl',
  'labels_alone',
  'all_labels',
  'fixmatch',
  'supervised_fedavg',
  'consistency_averaging',
  'data_sharing',
)
# Client updates, and steps of all, in an epoch of federated SGD.
_TURNS = (50_000 - 4000) // 100 // 10


class PresetStepsTest(parameterized.TestCase):
  @parameterized.parameters(
    # Five epochs of the server, and of a client with as many images, in batches
    # of ten.
    ('semifl/cifar10_250_iid', 125, 5 * 50),
    ('semifl/cifar100_10000_iid', 200, 5 * 40),
    ('semifl/cifar10_4000_iid_one_epoch', 16, 46),
    # 4,000 labels in batches of 250: 16 steps per epoch.
    ('labels_alone/cifar10_4000', 16, 0),
    # 500 images of a client in batches of ten, for five epochs.
    ('supervised_fedavg/cifar10_iid', 0, 250),
    ('fedrgd_as_in_semifl/cifar10_4000_iid', 80, 230),
    ('fedsgd_fixmatch/cifar10_4000_iid', 1, 1),
    # A round is an epoch of all clients.
    ('fedsgd_fixmatch_as_in_semifl/cifar10_4000_iid', 10 * _TURNS, _TURNS),
  )
  def test_steps_of_server_and_client(self, name, server, client):
    self.assertEqual(
      preset_cells.count_steps(preset_cells.describe(name)), (server, client)
    )

  @parameterized.parameters(*_SYSTEMS)
  def test_dry_run_of_a_system(self, system_name):
    name = next(
      name
      for name in presets.names()
      if name.startswith(f'{system_name}/') and 'digits' not in name
    )
    described = preset_cells.describe(name)
    num_images = sum(preset_cells.CLASS_SIZES[described['flags']['task']])
    num_unlabeled = num_images - described['labeled_images']
    if system_name == 'labels_alone':
      num_unlabeled = 0
    self.assertEqual(described['unlabeled_images'], num_unlabeled)
    if described['clients']:
      if described['flags'].get('partition') == 'iid':
        # Clients have equally many images; the remainder has no client.
        num_unlabeled -= num_unlabeled % described['clients']
      self.assertEqual(described['unlabeled_images_at_clients'], num_unlabeled)
      self.assertBetween(
        described['clients_per_round'], 1, described['clients']
      )
    server_steps, client_steps = preset_cells.count_steps(described)
    self.assertEqual(
      server_steps > 0,
      described['labeled_images'] > 0 and system_name != 'data_sharing',
    )
    self.assertEqual(client_steps > 0, described['clients'] > 0)


if __name__ == '__main__':
  absltest.main()
