# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of the environment in which Ray is imported."""

import importlib.machinery
import os
import sys
import types
from unittest import mock

from absl.testing import absltest

from tff_semifl.runtime import errors
from tff_semifl.runtime.ray import environment as ray_environment


class PrepareTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.enterContext(mock.patch.dict(os.environ))
    self.enterContext(mock.patch.dict(sys.modules))
    for name in ('RAY_AUTH_MODE', 'RAY_AUTH_TOKEN'):
      os.environ.pop(name, None)
    sys.modules.pop('ray', None)

  def _import(self, is_initialized):
    sys.modules['ray'] = types.SimpleNamespace(
      __spec__=importlib.machinery.ModuleSpec('ray', None),
      is_initialized=lambda: is_initialized,
    )

  def test_cluster_of_this_program_has_a_token(self):
    ray_environment.prepare(is_local=True)
    self.assertEqual(os.environ['RAY_AUTH_MODE'], 'token')
    self.assertLen(os.environ['RAY_AUTH_TOKEN'], 64)

  def test_token_comes_from_whoever_has_the_cluster(self):
    ray_environment.prepare(is_local=False)
    self.assertNotIn('RAY_AUTH_MODE', os.environ)
    self._import(is_initialized=True)
    ray_environment.prepare(is_local=True)
    self.assertNotIn('RAY_AUTH_MODE', os.environ)

  def test_too_late_for_a_token(self):
    self._import(is_initialized=False)
    with self.assertRaisesRegex(errors.WorkerError, 'imported before .*token'):
      ray_environment.prepare(is_local=True)
    os.environ['RAY_AUTH_MODE'] = 'disabled'
    ray_environment.prepare(is_local=True)


if __name__ == '__main__':
  absltest.main()
