# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of splits into server, clients, and test or validation images."""

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np

from tasks import digits
from tests.experiment import small_experiment
from tff_semifl import settings
from tff_semifl.algorithms import system as system_lib
from tff_semifl.data import sources
from tff_semifl.experiment import client_test
from tff_semifl.experiment import federated_data
from tff_semifl.experiment import partitions

_LABELS = system_lib.Labels
_SEED = 3


def _split(labels, data=None, *, is_given=False, **changes):
  task = digits.Digits().create()
  data_split = settings.change_present(
    federated_data.choose_data_split(labels, is_given=is_given),
    {'num_labeled': 50, 'num_clients': 10, **changes},
  )
  return data_split.split(task, data or task.load(), seed=_SEED)


def _identify(images):
  """The set of the images' bytes."""
  return {image.tobytes() for image in images}


def _given_data():
  """Creates 35 labeled images of three classes, and two clients' images."""
  images = np.arange(45, dtype=np.uint8).reshape([45, 1, 1, 1])
  labels = np.repeat([0, 1, 2], [20, 10, 5]).astype(np.int32)
  return sources.TaskData(
    train=sources.LabeledImages(images[:35], labels),
    test=sources.LabeledImages(images[:1] + 100, labels[:1]),
    unlabeled=images[35:],
    shares=[np.arange(4), np.arange(4, 10)],
  )


class DrawTest(parameterized.TestCase):
  @parameterized.parameters(
    # Three classes have 20, 10 and 5 images, of which 19, 9 and 4 can be held
    # out.
    (3, [1, 1, 1]),
    (14, [5, 5, 4]),
    (22, [9, 9, 4]),
    (32, [19, 9, 4]),
  )
  def test_is_as_even_as_labels_allow(self, number, expected):
    labels = np.repeat([0, 1, 2], [20, 10, 5])
    drawn = client_test.draw_validation(labels, np.arange(35), number, _SEED)
    self.assertLen(set(drawn), number)
    self.assertEqual(np.bincount(labels[drawn]).tolist(), expected)

  def test_depends_on_the_seed_and_not_on_the_order(self):
    labels = np.repeat(np.arange(10), 5)
    drawn = client_test.draw_validation(labels, np.arange(50), 20, 0)
    again = client_test.draw_validation(labels, np.arange(50)[::-1], 20, 0)
    other = client_test.draw_validation(labels, np.arange(50), 20, 1)
    np.testing.assert_array_equal(drawn, again)
    self.assertNotEqual(set(drawn), set(other))

  @parameterized.parameters(33, 36)
  def test_refuses_to_leave_no_image_of_a_class(self, number):
    labels = np.repeat([0, 1, 2], [20, 10, 5])
    with self.assertRaisesRegex(
      ValueError, '35 labeled images of 3 classes, .* 32 at most are left'
    ):
      client_test.draw_validation(labels, np.arange(35), number, _SEED)


class ValidationTest(parameterized.TestCase):
  @parameterized.parameters(
    _LABELS.AT_SERVER,
    _LABELS.AT_SERVER_WITH_POOL,
    _LABELS.AT_SERVER_AND_CLIENTS,
  )
  def test_images_are_taken_from_the_labels_and_are_nowhere_else(self, labels):
    without = _split(labels)
    found = _split(labels, num_validation=20)
    held_out = _identify(found.test.images)
    trained_on = _identify(found.labeled.images)
    self.assertEqual(np.bincount(found.test.labels).tolist(), [2] * 10)
    self.assertEqual(np.bincount(found.labeled.labels).tolist(), [3] * 10)
    self.assertTrue(held_out.isdisjoint(trained_on))
    self.assertEqual(held_out | trained_on, _identify(without.labeled.images))
    # The remaining images keep their order, and clients keep their images.
    kept = [image.tobytes() in trained_on for image in without.labeled.images]
    np.testing.assert_array_equal(
      found.labeled.images, without.labeled.images[kept]
    )
    np.testing.assert_array_equal(
      found.unlabeled.images, without.unlabeled.images
    )
    for share, expected in zip(found.shares, without.shares, strict=True):
      np.testing.assert_array_equal(share, expected)
    everything = _identify(found.at_server(labels).images)
    self.assertTrue(held_out.isdisjoint(everything))

  def test_given_labels(self):
    data = _given_data()
    found, in_one_place, alone = (
      _split(labels, data, is_given=True, num_validation=12)
      for labels in (
        _LABELS.AT_SERVER,
        _LABELS.AT_SERVER_WITH_POOL,
        _LABELS.AT_SERVER_ALONE,
      )
    )
    held_out = found.test.images.ravel()
    self.assertEqual(np.bincount(found.test.labels).tolist(), [4, 4, 4])
    np.testing.assert_array_equal(
      np.sort(np.concatenate([held_out, found.labeled.images.ravel()])),
      np.arange(35),
    )
    np.testing.assert_array_equal(found.unlabeled.images, data.unlabeled)
    np.testing.assert_array_equal(
      np.sort(
        np.concatenate([found.labeled.images, found.unlabeled.images]).ravel()
      ),
      np.setdiff1d(np.arange(45), held_out),
    )
    for other in (in_one_place, alone):
      np.testing.assert_array_equal(other.test.images, found.test.images)
      self.assertTrue(set(held_out).isdisjoint(other.labeled.images.ravel()))

  def test_names_of_experiments_say_so(self):
    for system, name in (
      ('semifl', 'semifl_digits_50_validation20_iid_seed0'),
      ('labels_alone', 'labels_alone_digits_50_validation20_seed0'),
      ('all_labels', 'all_labels_digits_validation20_seed0'),
    ):
      found = small_experiment.fill_in(system, num_validation=20)
      self.assertEqual(found.default_name, name)
      self.assertTrue(found.validates)


_POOL = system_lib.Labels.AT_SERVER_WITH_POOL


class PooledDataTest(absltest.TestCase):
  def test_has_the_labels_of_a_federation_and_the_images_of_its_clients(self):
    found = _split(_POOL)
    federated = _split(system_lib.Labels.AT_SERVER)
    for part, other in zip(found.labeled, federated.labeled, strict=True):
      np.testing.assert_array_equal(part, other)
    np.testing.assert_array_equal(
      found.unlabeled.images, federated.unlabeled.images
    )
    self.assertEmpty(found.shares)
    # Systems with and without clients are compared on the same images.
    self.assertLen(federated.shares, 10)

  def test_server_is_not_told_labels_that_it_does_not_have(self):
    found = _split(_POOL)
    at_server = found.at_server(_POOL)
    num_unlabeled = len(found.unlabeled.images)
    self.assertEqual(num_unlabeled, 1437 - 50)
    np.testing.assert_array_equal(
      at_server.images,
      np.concatenate([found.labeled.images, found.unlabeled.images]),
    )
    np.testing.assert_array_equal(
      at_server.labels,
      [*found.labeled.labels, *[sources.UNKNOWN_LABEL] * num_unlabeled],
    )


class PartitionTest(absltest.TestCase):
  def test_images_that_do_not_divide(self):
    # 1387 = 7 * 198 + 1 = 19 * 73.
    found = _split(_LABELS.AT_SERVER, num_clients=7)
    self.assertEqual(found.notes, ('1 of 1387 images have no client',))
    self.assertEmpty(_split(_LABELS.AT_SERVER, num_clients=19).notes)

  def test_outside_function_must_share_out_all_images(self):
    part = partitions.OutsidePartition(
      reference='some.module:split',
      function=lambda labels, num_classes, num_clients, seed: np.split(
        np.arange(len(labels) - 1), num_clients
      ),
    )
    with self.assertRaisesRegex(
      ValueError, '^some.module:split gave 1000 of 1001 images'
    ):
      part.split(np.arange(1001) % 10, 10, 20, 0)


class LabeledClientsTest(parameterized.TestCase):
  @parameterized.parameters(
    _LABELS.AT_SOME_CLIENTS, _LABELS.AT_SERVER_AND_SOME_CLIENTS
  )
  def test_share_of_clients(self, labels):
    few, more = (
      _split(labels, num_clients=20, labeled_client_share=share)
      for share in (0.12, 0.3)
    )
    # 2.4 and 6 of 20 clients; more labels are added to those of few.
    self.assertLen(set(few.labeled_clients), 2)
    self.assertLen(set(more.labeled_clients), 6)
    self.assertContainsSubset(few.labeled_clients, more.labeled_clients)
    self.assertContainsSubset(more.labeled_clients, range(20))
    has_server = labels is _LABELS.AT_SERVER_AND_SOME_CLIENTS
    self.assertLen(few.labeled.labels, 50 if has_server else 0)
    expected = [
      few.unlabeled.true_labels[few.shares[i]] for i in few.labeled_clients
    ]
    np.testing.assert_array_equal(few.client_labels, np.concatenate(expected))
    self.assertRegex(few.notes[-1], r'^2 of 20 clients have labels, of 1[34]\d')

  def test_share_that_is_no_client(self):
    with self.assertRaisesRegex(
      settings.SettingError, '^labeled_client_share=0.04: is none of 10 clients'
    ):
      _split(_LABELS.AT_SOME_CLIENTS, labeled_client_share=0.04)

  def test_given_labels(self):
    data = _given_data()._replace(
      labeled_clients=[1], unlabeled_labels=np.r_[[-1] * 4, [0, 1, 2, 0, 1, -1]]
    )
    found = _split(_LABELS.AT_SOME_CLIENTS, data, is_given=True)
    self.assertEmpty(found.labeled.labels)
    self.assertLen(found.unlabeled.images, 10)
    self.assertEqual(
      found.notes,
      (
        "the server's labeled images are not used",
        '1 of 2 clients have labels, of 5 of 10 images',
      ),
    )
    np.testing.assert_array_equal(found.client_labels, [0, 1, 2, 0, 1])


class ClientTestTest(parameterized.TestCase):
  @parameterized.parameters(False, True)
  def test_holds_out_a_share_of_each_client(self, is_given):
    data = _given_data() if is_given else None
    labels = _LABELS.AT_SERVER
    whole = _split(labels, data, is_given=is_given)
    part = _split(labels, data, is_given=is_given, client_test_fraction=0.3)
    self.assertIsNone(whole.client_test)
    self.assertLen(part.labeled.labels, len(whole.labeled.labels))
    for all_images, kept, tested in zip(
      whole.shares, part.shares, part.client_test.shares, strict=True
    ):
      self.assertLen(tested, int(0.3 * len(all_images)))
      kept, tested, all_images = (
        [image.tobytes() for image in pool.images[share]]
        for pool, share in (
          (part.unlabeled, kept),
          (part.client_test.pool, tested),
          (whole.unlabeled, all_images),
        )
      )
      self.assertCountEqual(kept + tested, all_images)
    np.testing.assert_array_equal(
      np.sort(
        np.concatenate(
          [part.unlabeled.true_labels, part.client_test.pool.true_labels]
        )
      ),
      np.sort(whole.unlabeled.true_labels),
    )

  def test_clients_need_images(self):
    with self.assertRaisesRegex(
      settings.SettingError, 'client_test_fraction=0.05: no client has 20'
    ):
      _split(
        _LABELS.AT_SERVER,
        _given_data(),
        is_given=True,
        client_test_fraction=0.05,
      )


if __name__ == '__main__':
  absltest.main()
