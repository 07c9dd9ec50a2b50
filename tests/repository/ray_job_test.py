# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of the manifest of KubeRay, against its fields and our program."""

from collections.abc import Sequence
import shlex
from typing import Any

from absl.testing import absltest
import jsonschema
import yaml

from tests.repository import source_tree
from tff_semifl.command_line import commands

_STRING, _INTEGER, _BOOLEAN = (
  {'type': name} for name in ('string', 'integer', 'boolean')
)
_STRINGS = {'type': 'object', 'additionalProperties': _STRING}


def _object(required: Sequence[str] = (), **fields: Any) -> dict[str, Any]:
  return {
    'type': 'object',
    'properties': fields,
    'required': [*required],
    'additionalProperties': False,
  }


def _array(items: dict[str, Any]) -> dict[str, Any]:
  return {'type': 'array', 'items': items, 'minItems': 1}


# The fields of pods in the manifest, by the reference of Kubernetes' API 1.31.
_POD_TEMPLATE = _object(
  ['spec'],
  metadata=_object(labels=_STRINGS, annotations=_STRINGS),
  spec=_object(
    ['containers'],
    containers=_array(
      _object(
        ['name', 'image'],
        name=_STRING,
        image=_STRING,
        env=_array(_object(['name'], name=_STRING, value=_STRING)),
        resources=_object(limits=_STRINGS, requests=_STRINGS),
        volumeMounts=_array(
          _object(['name', 'mountPath'], name=_STRING, mountPath=_STRING)
        ),
      )
    ),
    volumes=_array(
      _object(
        ['name'],
        name=_STRING,
        persistentVolumeClaim=_object(['claimName'], claimName=_STRING),
      )
    ),
  ),
)
# Likewise of `ray.io/v1`, by the API reference of KubeRay 1.5.
_RAY_JOB = _object(
  ['apiVersion', 'kind', 'metadata', 'spec'],
  apiVersion={'const': 'ray.io/v1'},
  kind={'const': 'RayJob'},
  metadata=_object(['name'], name=_STRING, namespace=_STRING, labels=_STRINGS),
  spec=_object(
    ['entrypoint', 'rayClusterSpec'],
    backoffLimit=_INTEGER,
    entrypoint=_STRING,
    rayClusterSpec=_object(
      ['headGroupSpec'],
      authOptions=_object(mode={'enum': ['disabled', 'token']}),
      headGroupSpec=_object(
        ['template'],
        rayStartParams=_STRINGS,
        template=_POD_TEMPLATE,
      ),
      rayVersion=_STRING,
      workerGroupSpecs=_array(
        _object(
          ['groupName', 'template'],
          groupName=_STRING,
          maxReplicas=_INTEGER,
          minReplicas=_INTEGER,
          rayStartParams=_STRINGS,
          replicas=_INTEGER,
          template=_POD_TEMPLATE,
        )
      ),
    ),
    shutdownAfterJobFinishes=_BOOLEAN,
  ),
)


class RayJobTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    path = source_tree.PROJECT_ROOT / 'deploy' / 'ray_job.yaml'
    self.job = yaml.safe_load(path.read_text())

  def test_fields_are_those_of_kuberay(self):
    jsonschema.Draft202012Validator.check_schema(_RAY_JOB)
    jsonschema.validate(self.job, _RAY_JOB)

  def test_volumes_that_are_mounted(self):
    cluster = self.job['spec']['rayClusterSpec']
    for group in (cluster['headGroupSpec'], *cluster['workerGroupSpecs']):
      pod = group['template']['spec']
      self.assertEqual(
        {
          mount['name']
          for container in pod['containers']
          for mount in container.get('volumeMounts', ())
        },
        {volume['name'] for volume in pod.get('volumes', ())},
      )

  def test_its_command_has_flags_that_the_program_knows(self):
    program, train, system, preset, *flags = shlex.split(
      self.job['spec']['entrypoint']
    )
    self.assertEqual((program, train), ('tff-semifl', 'train'))
    self.assertStartsWith(preset, '--preset=')
    commands.parse(system, ['--task=cifar10', *flags]).check()

  def test_ray_is_that_of_the_lock(self):
    version = self.job['spec']['rayClusterSpec']['rayVersion']
    lock = (source_tree.PROJECT_ROOT / 'requirements.txt').read_text()
    self.assertIn(f'ray=={version} ', lock)


if __name__ == '__main__':
  absltest.main()
