# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of handles to images at sites, in a population."""

from absl.testing import absltest
import numpy as np
import tensorflow as tf

from tff_semifl.data import data_errors
from tff_semifl.data import pipelines
from tff_semifl.data import site_images
from tff_semifl.data import sources
from tff_semifl.runtime import sites

_NAMES = ('east', 'north', 'west')


class SiteImagesTest(tf.test.TestCase):
  def setUp(self):
    super().setUp()
    self.images = site_images.SiteImages(_NAMES, (4, 3, 1))

  def test_rows_are_sites(self):
    self.assertLen(self.images, 3)
    self.assertEqual(self.images.shape, (3, 4, 3, 1))
    for key in (slice(1, None), np.array([2, 0]), np.array([], int)):
      found = self.images[key]
      self.assertEqual(found.names, tuple(np.array(_NAMES)[key]))
      self.assertEqual(found.shape, (len(found), 4, 3, 1))

  def test_nobody_here_reads_them(self):
    for read in (
      np.asarray,
      np.ascontiguousarray,
      tf.constant,
      lambda images: np.concatenate([np.zeros([1, 4, 3, 1]), images]),
    ):
      with self.assertRaisesRegex(
        data_errors.DataError, 'the images stay at the sites'
      ):
        read(self.images)

  def test_datasets_of_a_cohort(self):
    for know_participation, fields in (
      (False, ['client_id']),
      (True, ['client_id', 'earlier_rounds']),
    ):
      clients = pipelines.ClientPopulation(
        sources.ImagePool(
          self.images, np.full(3, sources.UNKNOWN_LABEL, np.int32)
        ),
        np.split(np.arange(3), 3),
        clients_per_round=2,
        seed=0,
        know_participation=know_participation,
      )
      for round_num in (1, 2):
        cohort = clients.cohort(round_num)
        found = clients.datasets(round_num)
        self.assertEqual(
          [each.site for each in found], [_NAMES[i] for i in cohort]
        )
        for client, dataset in zip(cohort, found, strict=True):
          self.assertIsInstance(dataset, sites.SiteDataset)
          self.assertEqual(dataset.fields['client_id'], client)
          self.assertEqual(list(dataset.element_spec), [*fields, 'image'])
      self.assertEqual(
        [each.site for each in clients.all_datasets()], list(_NAMES)
      )


class NameTest(absltest.TestCase):
  def test_names(self):
    for name in ('a', 'site_3', 'St.-Mary', '3', 'x' * 64):
      self.assertTrue(sites.is_name(name), name)
    for name in ('', '-a', 'a b', 'a/b', 'ä', 'a,b', 'a"', 'x' * 65, 'a\n'):
      self.assertFalse(sites.is_name(name), name)


if __name__ == '__main__':
  tf.test.main()
