# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of the programs that a site runs or rejects."""

import os
import pathlib
from unittest import mock

from absl.testing import parameterized
import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

from tff_semifl.runtime import errors
from tff_semifl.runtime import sites
from tff_semifl.runtime import values
from tff_semifl.runtime.ray import actor as ray_actor
from tff_semifl.runtime.ray import graph_digest
from tff_semifl.runtime.ray import site as ray_site
from tff_semifl.runtime.ray import values as ray_values

_SHAPE = (4, 3, 1)


def _program(*types):
  """The identity as a program."""
  inputs = tff.framework.Reference('inputs', tff.types.to_type(list(types)))
  return tff.framework.Lambda(
    inputs.name, inputs.type_signature, tff.framework.Struct([inputs])
  )


class SiteTest(parameterized.TestCase, tf.test.TestCase):
  def setUp(self):
    super().setUp()
    folder = pathlib.Path(self.create_tempdir().full_path)
    self.images = np.random.default_rng(0).integers(
      256, size=(5, *_SHAPE), dtype=np.uint8
    )
    (folder / 'images').write_bytes(self.images.tobytes())
    self.messages = folder / 'messages'
    self.site = ray_site.Site(
      ray_site.Description('east', 5, _SHAPE),
      str(folder / 'images'),
      str(self.messages),
    )

  def _dataset(self, site='east', image_shape=_SHAPE):
    return sites.SiteDataset(
      site,
      {'client_id': np.int32(7), 'earlier_rounds': np.int32(2)},
      image_shape,
    )

  def test_is_found_by_processes_of_its_machine(self):
    self.assertIsNone(ray_site.Site.here())
    for site in (self.site, self.site._replace(approved=['0' * 64])):
      with mock.patch.dict(os.environ, site.variables()):
        self.assertEqual(ray_site.Site.here(), site)

  def test_dataset_is_that_of_the_images(self):
    dataset = self._dataset()
    [chunk] = values.to_dataset(
      self.site.read(dataset),
      tff.types.tensorflow_to_type(dataset.element_spec),
    )
    self.assertAllEqual(list(chunk), ['client_id', 'earlier_rounds', 'image'])
    self.assertAllEqual(chunk['image'], self.images)
    self.assertEqual((chunk['client_id'], chunk['earlier_rounds']), (7, 2))

  def test_images_that_are_not_there(self):
    for dataset in (
      self._dataset('west'),
      self._dataset(image_shape=(4, 4, 1)),
    ):
      with self.assertRaisesRegex(
        errors.SiteError, 'east was asked for images'
      ):
        self.site.read(dataset)
    pathlib.Path(self.site.images).unlink()
    # Errors do not reveal the site's folder to others.
    with self.assertRaisesRegex(
      errors.SiteError, '^east cannot read its images: No such file[a-z ]*$'
    ):
      self.site.read(self._dataset())

  def test_programs_that_it_runs(self):
    block = _program(np.float32, (np.uint8, (None, 3)))
    digest = graph_digest.digest(block)
    for approved in (None, ['0' * 64, digest]):
      self.site._replace(approved=approved).check_program(block)
      self.assertEqual(self.messages.read_text(), f'runs program {digest}\n')

  def test_program_without_approval_is_refused_before_images_are_read(self):
    block = _program(np.float32)
    site = self.site._replace(approved=['0' * 64])
    with mock.patch.dict(os.environ, site.variables()):
      actor = ray_actor.Actor(None)
    problem = f'refuses program {graph_digest.digest(block)}, which --approved'
    content = block.proto.SerializeToString()
    with (
      mock.patch.object(ray_actor, '_read_content', lambda _: content),
      mock.patch.object(ray_site.Site, 'read') as read,
      self.assertRaisesRegex(errors.SiteError, f'^east {problem}'),
    ):
      actor.run('key', [None], [[]], [self._dataset()])
    read.assert_not_called()
    self.assertRegex(self.messages.read_text(), f'^{problem}.*\n$')

  def test_code_beside_an_approved_program_is_refused(self):
    graph = ray_values.encode(
      tf.data.experimental.to_variant(tf.data.Dataset.range(3)),
      tff.SequenceType(np.int64),
    )
    self.site.check_inputs([[], [graph]])
    approving = self.site._replace(approved=['0' * 64])
    approving.check_inputs([[], [[np.float32(1)], self._dataset()]])
    with self.assertRaisesRegex(errors.SiteError, 'refuses a dataset'):
      approving.check_inputs([[], [graph]])

  @parameterized.parameters(
    ((np.uint8, (None, *_SHAPE)), 'uint8'),
    (tff.SequenceType(np.float32), r'float32\*'),
  )
  def test_programs_that_it_refuses(self, result_type, shown):
    problem = f'refuses program .*, which returns images: .*{shown}'
    with self.assertRaisesRegex(errors.SiteError, f'^east {problem}'):
      self.site.check_program(_program(np.float32, result_type))
    self.assertRegex(self.messages.read_text(), f'^{problem}.*\n$')

  def test_images_of_a_site_that_come_to_none(self):
    with self.assertRaisesRegex(
      errors.SiteError, 'came to a process without site'
    ):
      ray_values.decode([self._dataset()])

  def test_sites_that_do_not_fit(self):
    def find(name='east', shape=_SHAPE, found=self.site.description):
      return ray_site.find_problem(name, shape, found)

    self.assertIsNone(find())
    for problem in (find(found=None), find(name='west')):
      self.assertIn('not started by launch.site', problem)
    self.assertStartsWith(
      find(shape=(8, 6, 3)),
      'its images are of 4x3x1, those of this program of 8x6x3; start',
    )


if __name__ == '__main__':
  tf.test.main()
