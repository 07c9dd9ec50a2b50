# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of the combinations of aggregator settings."""

from absl.testing import absltest
from absl.testing import parameterized
import pytest

from tests.experiment import small_experiment
from tff_semifl import settings
from tff_semifl.experiment import experiment
from tff_semifl.experiment import run_settings

_PRIVATE = {'aggregator': 'differential_privacy', 'noise_multiplier': 1.0}


class AggregatorSettingsTest(parameterized.TestCase):
  def test_noise_has_no_default(self):
    with self.assertRaisesRegex(
      settings.SettingError,
      '^aggregator=differential_privacy: needs noise_multiplier, 1',
    ):
      small_experiment.fill_in(aggregator='differential_privacy')

  @parameterized.parameters(
    ('fedmatch', 'FedMatch weighs its updates, which is not private'),
    # The clients of this system continue from their last update.
    ('fedsgd_fixmatch', 'the images .* how often it took part'),
  )
  def test_system_that_has_no_noise(self, system, why):
    for values in ({'aggregator': 'differential_privacy'}, _PRIVATE):
      with self.assertRaisesRegex(
        settings.SettingError,
        f'^aggregator=differential_privacy: {why}.*; must be one of mean, rob',
      ):
        small_experiment.create(system, **values)
    small_experiment.fill_in(system)

  def test_weights_that_noise_does_not_go_with(self):
    for system, values in (
      ('composed_semifl', {'weighting': 'learning_status'}),
      ('semifl_labeled_clients', {}),
    ):
      with self.assertRaisesRegex(
        settings.SettingError, '^aggregator=differential_privacy: .* weight'
      ):
        small_experiment.fill_in(system, **values, **_PRIVATE)
    small_experiment.fill_in('composed_semifl', **_PRIVATE)

  @parameterized.parameters('federated', 'pooled')
  def test_statistics_that_tell_what_noise_should_hide(self, statistics):
    message = f'^batch_norm_statistics={statistics}: tells of the images'
    with self.assertRaisesRegex(settings.SettingError, message):
      small_experiment.fill_in(batch_norm_statistics=statistics, **_PRIVATE)
    small_experiment.fill_in(batch_norm_statistics='server', **_PRIVATE)

  def test_momentum_that_tells_of_earlier_rounds(self):
    with self.assertRaisesRegex(
      settings.SettingError,
      '^aggregator=differential_privacy: .* leave keep_client_momentum out',
    ):
      small_experiment.fill_in(keep_client_momentum=True, **_PRIVATE)
    small_experiment.fill_in(keep_client_momentum=True)

  @pytest.mark.slow
  def test_delta_that_allows_a_client_to_be_published(self):
    run = run_settings.RunSettings(
      output_dir=self.create_tempdir().full_path, experiment_name='mine'
    )
    with self.assertRaisesRegex(
      settings.SettingError,
      '^privacy_delta=0.05: must be less than 1 / 20, the number of clients',
    ):
      experiment.create_experiment(
        small_experiment.create(num_clients=20, privacy_delta=0.05, **_PRIVATE),
        run,
      )

  @parameterized.parameters(
    ('noise_multiplier', 0.0, 'must be from 0.000001 to 1000000'),
    ('insecure_fixed_privacy_key', '12ab', 'must be 64 hexadecimal digits'),
    ('quantization_bits', 17, 'must be from 1 to 16'),
    (
      'aggregator',
      'median',
      '.*must be one of mean, robust, differential_privacy, compression, or',
    ),
  )
  def test_value_out_of_range(self, name, value, message):
    owners = settings.find_owners(small_experiment.create(), name)
    chosen = dict(owner.split('=') for owner in owners)
    with self.assertRaisesRegex(
      settings.SettingError, f'^{name}={value}: {message}'
    ):
      small_experiment.create(**chosen, **{name: value})


if __name__ == '__main__':
  absltest.main()
