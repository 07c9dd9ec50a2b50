# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of the choice of images to label."""

from unittest import mock

from absl.testing import absltest
import numpy as np

from tff_semifl.data import assisted_labeling

_KINDS, _EACH = 6, 30


def _draw(kinds=_KINDS, each=_EACH):
  """Features in separate groups, with group and center of each vector."""
  generator = np.random.default_rng(0)
  centers = 10 * generator.normal(size=(kinds, 32))
  group = np.repeat(np.arange(kinds), each)
  noise = generator.normal(size=(len(group), 32))
  return (centers[group] + noise).astype(np.float32), group, centers


class ChooseImagesTest(absltest.TestCase):
  def test_chooses_a_central_image_of_each_group(self):
    features, group, centers = _draw()
    found = assisted_labeling.choose_images(features, _KINDS)
    self.assertCountEqual(group[found.indices], range(_KINDS))
    self.assertEqual(found.num_alike.tolist(), [_EACH] * _KINDS)
    distances = np.linalg.norm(features - centers[group], axis=1)
    for index in found.indices:
      own = distances[group == group[index]]
      self.assertLess(distances[index], np.median(own))

  def test_largest_group_is_first(self):
    features, group, _ = _draw()
    kept = (group != 3) | (np.arange(len(group)) % 3 == 0)
    found = assisted_labeling.choose_images(features[kept], _KINDS)
    self.assertEqual(group[kept][found.indices[-1]], 3)
    self.assertEqual(found.num_alike[-1], _EACH // 3)

  def test_next_images_are_of_groups_without_labels(self):
    features, group, _ = _draw()
    labeled = np.flatnonzero(group < 4)[::_EACH]
    found = assisted_labeling.choose_images(
      features, 2, labeled=features[labeled]
    )
    self.assertCountEqual(group[found.indices], [4, 5])
    # The labeled images are among these images, as duplicates.
    self.assertEqual(found.num_duplicates, len(labeled))

  def test_uncertain_group_is_first(self):
    features, group, _ = _draw()
    found = assisted_labeling.choose_images(
      features, _KINDS, uncertainty=np.where(group == 2, 0.5, 0.1)
    )
    self.assertEqual(group[found.indices[0]], 2)

  def test_near_duplicates_are_one_image(self):
    features, group, _ = _draw()
    noise = np.random.default_rng(1).normal(size=(50, 32))
    burst = (features[:1] + 0.01 * noise).astype(np.float32)
    found = assisted_labeling.choose_images(
      np.concatenate([features, burst]), 10**6
    )
    # All single images are chosen, and one of the burst.
    self.assertEqual(found.num_duplicates, len(burst))
    self.assertCountEqual(found.indices, range(len(features)))

  def test_few_and_many_images(self):
    features, _, _ = _draw()
    for same in (features[:1], np.repeat(features[:1], 5, axis=0)):
      found = assisted_labeling.choose_images(same, 3)
      self.assertEqual(found.indices.tolist(), [0])
    none_left = assisted_labeling.choose_images(
      features[:4], 3, labeled=features[:4]
    )
    self.assertEmpty(none_left.indices)
    with mock.patch.object(assisted_labeling, 'MOST_IMAGES', 50):
      found = assisted_labeling.choose_images(features, 2)
    self.assertEqual(found.num_considered, 50)
    with self.assertRaisesRegex(ValueError, 'found 0 images to choose 3 from'):
      assisted_labeling.choose_images(features[:0], 3)
