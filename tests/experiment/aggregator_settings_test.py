# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of which settings of aggregators can be combined."""

from absl.testing import absltest
from absl.testing import parameterized
import pytest

from tests.experiment import small_experiment
from tff_semifl import settings
from tff_semifl.experiment import experiment
from tff_semifl.experiment import run_settings

_PRIVATE = {'aggregator': 'differential_privacy', 'noise_multiplier': 1.0}


class AggregatorSettingsTest(parameterized.TestCase):
  @parameterized.parameters(
    ('mean', 'compression', 'quantization_bits', 4),
    ('robust', 'differential_privacy', 'clipping_norm', 2.0),
    ('differential_privacy', 'robust', 'clipping_quantile', 0.5),
  )
  def test_setting_that_the_aggregator_would_ignore(
    self, aggregator, owner, name, value
  ):
    with self.assertRaisesRegex(
      settings.SettingError,
      f'^{name}={value}: .* aggregator={owner}',
    ):
      small_experiment.create(aggregator=aggregator, **{name: value})

  def test_noise_has_no_default(self):
    with self.assertRaisesRegex(
      settings.SettingError,
      '^aggregator=differential_privacy: needs noise_multiplier, 1',
    ):
      small_experiment.fill_in(aggregator='differential_privacy')

  @parameterized.parameters(
    ('fedmatch', 'FedMatch weighs its updates, which is not private'),
    # Its clients continue from their last update.
    ('fedsgd_fixmatch', 'the images .* how often it took part'),
    ('client_prior_sgd', 'the images .* how often it took part'),
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
    with self.assertRaisesRegex(
      settings.SettingError, '^aggregator=differential_privacy: .* weight'
    ):
      small_experiment.fill_in(
        'composed_semifl', weighting='learning_status', **_PRIVATE
      )
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
      '^aggregator=differential_privacy: with keep_client_momentum what a'
      ' client sends depends on the rounds that it took part in before',
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
    ('clipping_norm', -1.0, 'must be from 0.000001 to 1000000'),
    ('clipping_quantile', 1.0, r'must be in \(0, 1\)'),
    ('insecure_fixed_privacy_key', '12ab', 'must be 64 hexadecimal digits'),
    ('insecure_fixed_privacy_key', 'AB' * 32, 'must be 64 hexadecimal digits'),
    ('privacy_delta', 0.0, r'must be in \(0, 1\)'),
    ('quantization_bits', 17, 'must be from 1 to 16'),
    ('max_update_norm_ratio', 0.0, 'must be above 0'),
    ('client_dropout_probability', 1.0, r'must be in \[0, 1\)'),
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
