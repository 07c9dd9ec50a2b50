# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of bad flags of sites, and of training with sites."""

import os
import pathlib
import shutil
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
import pytest

from launch import show_data
from launch import site as site_lib
from tests import small_digits
from tests.data import image_tree
from tff_semifl import settings
from tff_semifl.cli import commands

_NAMES = ('east', 'west')
_RAY = {'runtime': 'ray', 'ray_address': 'host:1'}


class TrainingTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.images = image_tree.write_tree(
      pathlib.Path(self.create_tempdir().full_path, 'images')
    )
    shutil.rmtree(self.images / 'clients')

  def _create(self, system='semifl', **changes):
    values = {
      'task': 'tests.launch.small_photos:SmallPhotos',
      'model': small_digits.SETTINGS['model'],
      'image_dir': str(self.images),
      'sites': _NAMES,
    }
    return commands.create(system, values | changes)

  @parameterized.parameters(
    ('semifl', {}, 'only --runtime=ray'),
    ('semifl', {'runtime': 'ray'}, 'with the --ray_address of'),
    ('semifl', {'sites': ('a', 'b/c')}, 'must be different names of up to 64'),
    ('semifl', {**_RAY, 'batch_norm_statistics': 'pooled'}, 'in one place'),
    ('fixmatch', _RAY, 'in one place'),
    ('semifl_server_and_clients', _RAY, 'in one place'),
  )
  @pytest.mark.slow
  def test_before_anything_is_started(self, system, changes, problem):
    with self.assertRaisesRegex(
      settings.SettingError, f'^sites=[a-z/,]*: .*{problem}'
    ):
      self._create(system, **changes).create_experiment()

  def test_resumes_with_the_same_sites(self):
    folder = self.create_tempdir().full_path

    def check(**changes):
      values = {'output_dir': folder, 'experiment_name': 'mine', **_RAY}
      self._create(**(values | changes)).check_folder()

    check()
    check(ray_address='auto')
    with self.assertRaisesRegex(
      settings.SettingError, 'mine holds another experiment, with --sites='
    ):
      check(sites=('east', 'north'))

  def test_partition_is_not_known(self):
    with self.assertRaisesRegex(settings.SettingError, '^sites=east,west: '):
      show_data.main(show_data.ShowData(), self._create().experiment.data)


class SiteTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.images = pathlib.Path(self.create_tempdir().full_path)
    image_tree.write_image(self.images / 'a.png', 7)

  def _run(self, variables=None, **changes):
    given = {
      'name': 'east',
      'address': '127.0.0.1:1',
      'image_dir': str(self.images),
      **changes,
    }
    variables = {'RAY_AUTH_MODE': 'token', 'RAY_USE_TLS': '0'} | (
      variables or {}
    )
    with mock.patch.dict(os.environ, variables):
      site_lib.main(settings.change(site_lib.SiteSettings(), given))

  @parameterized.parameters(
    ({'name': None}, '^name: it must be given'),
    ({'image_dir': None}, '^image_dir: it must be given'),
    ({'name': 'a b'}, '^name=a b: must be up to 64 letters'),
    ({'address': 'auto'}, '^address=auto: must be host:port'),
    ({'approved': 'abc'}, '^approved=abc: .*No such file'),
    ({'approved': __file__}, '^approved=.*: has no digest, 64 hexadecimal'),
    ({}, '^address=127.0.0.1:1: no cluster is at .*:1: Connection refused'),
  )
  def test_before_it_joins(self, changes, problem):
    with self.assertRaisesRegex(settings.SettingError, problem):
      self._run(**changes)

  def test_cluster_that_lets_in_everybody(self):
    for variables in (
      {'RAY_AUTH_MODE': ''},
      {'RAY_AUTH_MODE': 'disabled'},
      # Ray's TLS does not protect all ports.
      {'RAY_AUTH_MODE': '', 'RAY_USE_TLS': '1'},
    ):
      with self.assertRaisesRegex(
        settings.SettingError, '^address=.*: whoever reaches .*a token'
      ):
        self._run(variables)


if __name__ == '__main__':
  absltest.main()
