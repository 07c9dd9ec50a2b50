# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of the actors on each machine, and of the environment of Ray."""

import importlib.machinery
import os
import sys
import types
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized

from tff_semifl import runtime
from tff_semifl.runtime import errors
from tff_semifl.runtime import sites
from tff_semifl.runtime.ray import options as ray_options


def _share(num_cpus, num_gpus, resources=None):
  share = {'num_cpus': num_cpus, 'num_gpus': num_gpus}
  return share if resources is None else {**share, 'resources': resources}


def _machine(name, **resources):
  return {'NodeID': name, 'Resources': resources}


_WITH_GPUS = [
  _machine('a', CPU=8.0, GPU=2.0),
  _machine('b', CPU=64.0),
  _machine('c', CPU=8.0, GPU=1.0),
]


class PlacementTest(parameterized.TestCase):
  @parameterized.named_parameters(
    (
      'all_cores_of_a_machine',
      [_machine('a', CPU=8.0), _machine('b', CPU=2.0)],
      {},
      {'a': (1, _share(8, 0)), 'b': (1, _share(2, 0))},
    ),
    (
      'as_many_as_threads_leave_cores_for',
      [_machine('a', CPU=8.0), _machine('b', CPU=2.0)],
      {'threads_per_operation': 3},
      {'a': (2, _share(3, 0)), 'b': (1, _share(2, 0))},
    ),
    (
      'no_more_than_wanted',
      [_machine(name, CPU=2.0) for name in 'abc'],
      {'max_actors': 3, 'threads_per_operation': 1},
      {'a': (2, _share(1, 0)), 'b': (1, _share(1, 0))},
    ),
    (
      'machine_without_cpus_directs_the_others',
      [_machine('head', memory=1.0), _machine('a', CPU=1.0)],
      {},
      {'a': (1, _share(1, 0))},
    ),
    ('gpus', _WITH_GPUS, {}, {'a': (2, _share(0, 1)), 'c': (1, _share(0, 1))}),
    (
      'halves_of_gpus',
      _WITH_GPUS,
      {'gpus_per_client': 0.5},
      {'a': (4, _share(0, 0.5)), 'c': (2, _share(0, 0.5))},
    ),
    # In floating point, seven times a seventh is less than one.
    (
      'sevenths_of_gpus',
      _WITH_GPUS[2:],
      {'gpus_per_client': 1 / 7},
      {'c': (7, _share(0, 1 / 7))},
    ),
    (
      'two_gpus',
      _WITH_GPUS,
      {'gpus_per_client': 2.0},
      {'a': (1, _share(0, 2))},
    ),
  )
  def test_place(self, machines, options, expected):
    found = ray_options.place(machines, runtime.RayOptions(**options))
    self.assertEqual(found, expected)

  def test_sites_get_one_each_and_nothing_else(self):
    def site(name):
      return {f'{ray_options.SITE_RESOURCE}{name}': 1.0}

    machines = [
      _machine('a', CPU=4.0),
      _machine('b', GPU=2.0, **site('east')),
      _machine('c', **site('west')),
      _machine('d', GPU=1.0, **site('north')),
    ]
    self.assertEqual(
      [ray_options.site_of(each) for each in machines],
      [None, 'east', 'west', 'north'],
    )
    options = runtime.RayOptions(
      threads_per_operation=2, max_actors=1, gpus_per_client=0.5
    )
    federation = sites.Federation(('west', 'east', 'south'), (8, 8, 1), True)
    others = {'a': (1, _share(2, 0))}
    self.assertEqual(ray_options.place(machines, options), others)
    self.assertEqual(
      ray_options.place(machines, options._replace(federation=federation)),
      others
      | {
        'b': (1, _share(0, 0.5, site('east'))),
        'c': (1, _share(0, 0, site('west'))),
      },
    )


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
    ray_options.prepare(is_local=True)
    self.assertEqual(os.environ['RAY_AUTH_MODE'], 'token')
    self.assertLen(os.environ['RAY_AUTH_TOKEN'], 64)

  def test_token_comes_from_whoever_has_the_cluster(self):
    ray_options.prepare(is_local=False)
    self.assertNotIn('RAY_AUTH_MODE', os.environ)
    self._import(is_initialized=True)
    ray_options.prepare(is_local=True)
    self.assertNotIn('RAY_AUTH_MODE', os.environ)

  def test_too_late_for_a_token(self):
    self._import(is_initialized=False)
    with self.assertRaisesRegex(errors.WorkerError, 'without a token'):
      ray_options.prepare(is_local=True)
    os.environ['RAY_AUTH_MODE'] = 'disabled'
    ray_options.prepare(is_local=True)


if __name__ == '__main__':
  absltest.main()
