# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of losing actors, with a mock of Ray."""

from unittest import mock

from absl.testing import absltest

from tests.runtime import ray_machines
from tff_semifl import runtime
from tff_semifl.runtime import errors
from tff_semifl.runtime.ray import actor as ray_actor
from tff_semifl.runtime.ray import actor_pool

ray = ray_machines.ray
# Ids in Ray's form.
_A, _B = 'a' * 56, 'b' * 56


def _machine(name):
  return {
    'NodeID': name,
    'NodeManagerAddress': f'address of {name[:2]}',
    'Resources': {'CPU': 1.0},
    'Alive': True,
  }


def _task_error(cause):
  return ray.exceptions.RayTaskError('run', 'a traceback', cause)


class RemoteActorTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.actor = ray_actor.RemoteActor(mock.MagicMock(), _machine(_A))

  def _get(self, error):
    with mock.patch.object(ray, 'get', side_effect=error):
      return self.actor.get('reference')

  def test_lost_for_whatever_reason_of_ray(self):
    for error, reason in (
      (ray.exceptions.OutOfMemoryError('too little memory'), 'too little'),
      (ray.exceptions.WorkerCrashedError(), 'worker died'),
      (ray.exceptions.RuntimeEnvSetupError('no packages'), 'environment'),
    ):
      with self.subTest(reason):
        with self.assertRaises(ray_actor.LostError):
          self._get(error)
        self.assertIn(reason, self.actor.find_loss(60, None))

  def test_site_without_images_is_lost(self):
    with self.assertRaises(ray_actor.LostError):
      self._get(_task_error(errors.SiteAwayError('cannot read its images')))
    self.assertEqual(self.actor.find_loss(60, None), 'cannot read its images')

  def test_start_that_takes_long(self):
    def find_loss(seconds):
      with mock.patch.object(
        ray_actor.time, 'monotonic', return_value=self.actor.started + seconds
      ):
        return self.actor.find_loss(60, None)

    with self.assertLogs(level='WARNING') as logs:
      self.assertIsNone(find_loss(61))
      self.assertIsNone(find_loss(62))
    [line] = logs.output
    self.assertRegex(line, 'at address of aa has not started yet; other')
    self.assertRegex(find_loss(301), '^it did not start in 300 seconds; other')


class CrewTest(absltest.TestCase):
  def test_limit_is_for_machines_on_which_actors_start(self):
    started = []

    def start(**options):
      started.append(options['scheduling_strategy'].node_id)
      return mock.MagicMock()

    with (
      mock.patch.object(actor_pool, 'ray') as fake_ray,
      mock.patch.object(ray_actor.RemoteActor, 'find_loss', return_value='bad'),
    ):
      fake_ray.nodes.return_value = [_machine(_A), _machine(_B)]
      fake_ray.get_runtime_context().get_node_id.return_value = _A
      fake_ray.wait.return_value = [], []
      fake_ray.remote.return_value.return_value.options = start
      pool = actor_pool.ActorPool(runtime.RayOptions(max_actors=1))
      with self.assertRaisesRegex(
        errors.WorkerError, 'no actor is left: actor at address of bb: bad'
      ):
        next(pool.run([actor_pool.Task(mock.MagicMock())]))
    self.assertEqual(started, [_A] * 3 + [_B] * 3)


if __name__ == '__main__':
  absltest.main()
