# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of the flags of aggregators: which go together, and with what."""

from absl import flags
from absl.testing import absltest
from absl.testing import flagsaver
from absl.testing import parameterized

from launch import experiment as experiment_lib
from launch import fedmatch_systems
from launch import program
from launch import settings as settings_lib
from launch import systems

_PRIVATE = {'aggregator': 'differential_privacy', 'noise_multiplier': '1'}
# By aggregator, the flags that are its own, with values that they may have.
_FLAGS = {
  'compression': {'quantization_bits': '4'},
  'differential_privacy': {
    'noise_multiplier': '1',
    'clipping_norm': '2',
    'privacy_delta': '0.001',
  },
  'mean': {},
  'robust': {'clipping_quantile': '0.5'},
}


class AggregatorFlagsTest(parameterized.TestCase):
  def _resolve(self, system=systems.SEMIFL, **values):
    with flagsaver.as_parsed(task='digits', **values):
      return settings_lib.resolve(system)

  @parameterized.named_parameters(
    (f'{name}_with_{aggregator}', aggregator, owner, name, value)
    for aggregator in _FLAGS
    for owner, values in _FLAGS.items()
    for name, value in values.items()
    if owner != aggregator
  )
  def test_flag_that_the_aggregator_would_ignore(
    self, aggregator, owner, name, value
  ):
    with self.assertRaisesRegex(
      program.FlagError,
      f'^flag --{name}={value}[.0]*: it is of --aggregator={owner} alone',
    ):
      self._resolve(aggregator=aggregator, **{name: value})

  @parameterized.named_parameters((name, name) for name in _FLAGS)
  def test_flags_of_the_aggregator_are_part_of_the_experiment(self, aggregator):
    values = _FLAGS[aggregator]
    settings = self._resolve(aggregator=aggregator, **values)
    self.assertEqual(
      {
        name: value
        for name, value in settings.aggregation._asdict().items()
        if value is not None
      },
      {name: float(value) for name, value in values.items()},
    )

  def test_defaults(self):
    self.assertEqual(
      set(self._resolve().aggregation._asdict().values()), {None}
    )
    robust = self._resolve(aggregator='robust').aggregation
    self.assertEqual(robust.clipping_quantile, 0.8)
    compression = self._resolve(aggregator='compression').aggregation
    self.assertEqual(compression.quantization_bits, 8)
    private = self._resolve(**_PRIVATE).aggregation
    self.assertEqual((private.clipping_norm, private.privacy_delta), (1, 1e-5))

  def test_noise_has_no_default(self):
    with self.assertRaisesRegex(
      program.FlagError,
      '^flag --aggregator=differential_privacy: needs --noise_multiplier, 1',
    ):
      self._resolve(aggregator='differential_privacy')

  def test_system_that_has_no_noise(self):
    for values in ({'aggregator': 'differential_privacy'}, _PRIVATE):
      with self.assertRaisesRegex(
        program.FlagError,
        '^flag --aggregator=differential_privacy: launch.train_fedmatch weighs',
      ):
        self._resolve(
          fedmatch_systems.FEDMATCH, model='fedmatch_resnet', **values
        )

  @parameterized.parameters('federated', 'pooled')
  def test_statistics_that_tell_what_noise_should_hide(self, statistics):
    message = (
      '^flag --aggregator=differential_privacy:'
      f' --batch_norm_statistics={statistics} tells of the images'
    )
    with self.assertRaisesRegex(program.FlagError, message):
      self._resolve(batch_norm_statistics=statistics, **_PRIVATE)
    self._resolve(batch_norm_statistics='server', **_PRIVATE)

  def test_momentum_that_tells_of_earlier_rounds(self):
    with self.assertRaisesRegex(
      program.FlagError,
      '^flag --aggregator=differential_privacy: with --keep_client_momentum'
      ' what a client sends depends on the rounds that it took part in before',
    ):
      self._resolve(keep_client_momentum='true', **_PRIVATE)
    self._resolve(keep_client_momentum='true')

  def test_privacy_where_clients_go_on_from_their_last_turn(self):
    with self.assertRaisesRegex(
      program.FlagError,
      '^flag --aggregator=differential_privacy: in launch.train_fedsgd_fixmatch'
      ' the images .* how often it took part',
    ):
      self._resolve(systems.FEDSGD_FIXMATCH, **_PRIVATE)
    self._resolve(systems.FEDSGD_FIXMATCH)

  def test_statistics_that_are_so_by_default(self):
    """Where the server has no images, they are of those of the clients."""
    with self.assertRaisesRegex(
      program.FlagError, '--batch_norm_statistics=pooled tells of the images'
    ):
      self._resolve(systems.SUPERVISED_FEDAVG, **_PRIVATE)
    self._resolve(systems.SUPERVISED_FEDAVG, normalization='group', **_PRIVATE)

  def test_delta_that_allows_a_client_to_be_published(self):
    with flagsaver.as_parsed(
      task='digits', num_clients='20', privacy_delta='0.05', **_PRIVATE
    ):
      settings = settings_lib.resolve(systems.SEMIFL)
      with self.assertRaisesRegex(
        program.FlagError,
        '^flag --privacy_delta=0.05: must be less than 1 / 20, the number of',
      ):
        experiment_lib.create_experiment(systems.SEMIFL, settings)

  @parameterized.parameters(
    ('noise_multiplier', '0', 'must be from 0.000001 to 1000000'),
    ('noise_multiplier', 'nan', 'must be from 0.000001 to 1000000'),
    ('clipping_norm', 'inf', 'must be from 0.000001 to 1000000'),
    ('clipping_norm', '-1', 'must be from 0.000001 to 1000000'),
    ('clipping_quantile', '1', r'must be in \(0, 1\)'),
    ('insecure_fixed_privacy_key', '12ab', 'must be 64 hexadecimal digits'),
    ('insecure_fixed_privacy_key', 'AB' * 32, 'must be 64 hexadecimal digits'),
    ('privacy_delta', '0', r'must be in \(0, 1\)'),
    ('quantization_bits', '17', r'range \[1, 16\]'),
    ('max_update_norm_ratio', '0', 'must be above 0'),
    ('max_update_norm_ratio', 'inf', 'must be above 0'),
    ('client_dropout_probability', '1', r'must be in \[0, 1\)'),
    ('client_dropout_probability', 'nan', r'must be in \[0, 1\)'),
    ('aggregator', 'median', '<compression|differential_privacy|mean|robust>'),
  )
  def test_value_out_of_range(self, name, value, message):
    with self.assertRaisesRegex(
      flags.IllegalFlagValueError, f'--{name}={value}.*{message}'
    ):
      with flagsaver.as_parsed(**{name: value}):
        pass


if __name__ == '__main__':
  absltest.main()
