# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of chunks of images, and of the nodes that take part in a round."""

import collections

from absl.testing import parameterized
import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

from tff_semifl import runtime
from tff_semifl.algorithms import gradient_steps
from tff_semifl.data import image_storage
from tff_semifl.data import partition
from tff_semifl.data import pipelines
from tff_semifl.data import sources
from tff_semifl.runtime import sites

_IMAGE_SHAPE = (2, 3, 1)


def _create_data(num_images):
  """Images that all differ, with labels 0 to 4."""
  size = int(np.prod(_IMAGE_SHAPE))
  images = np.arange(num_images * size, dtype=np.uint8)
  return sources.LabeledImages(
    images.reshape(num_images, *_IMAGE_SHAPE),
    np.arange(num_images, dtype=np.int32) % 5,
  )


def _create_population(
  num_images=20, num_clients=10, clients_per_round=3, seed=0, **kwargs
):
  return pipelines.ClientPopulation(
    sources.ImagePool(*_create_data(num_images)),
    partition.partition_iid(num_images, num_clients, seed=0),
    clients_per_round=clients_per_round,
    seed=seed,
    **kwargs,
  )


def _get_element(dataset):
  return dataset.map(dict).get_single_element()


class TypesTest(parameterized.TestCase):
  def test_client_type(self):
    for shape, images in (
      ((4, 5, 3), 'uint8[?,4,5,3]'),
      ((5,), 'float32[?,5]'),
    ):
      self.assertEqual(
        str(pipelines.client_type(shape)), f'<client_id=int32,image={images}>*'
      )

  def _assert_is_of_type(self, dataset, sequence_type):
    types = dict(tff.structure.to_elements(sequence_type.element))
    spec = dataset.element_spec
    self.assertEqual(list(spec), list(types))
    for name, tensor_type in types.items():
      expected = tf.TensorSpec(tensor_type.shape, tensor_type.dtype)
      self.assertTrue(expected.is_compatible_with(spec[name]), name)

  def test_datasets_are_of_their_types(self):
    data = _create_data(7)
    population = _create_population()
    self._assert_is_of_type(
      pipelines.labeled_dataset(data), pipelines.labeled_type(_IMAGE_SHAPE)
    )
    self._assert_is_of_type(
      pipelines.batched_dataset(data, 3), pipelines.labeled_type(_IMAGE_SHAPE)
    )
    for dataset in population.datasets(1):
      self._assert_is_of_type(dataset, pipelines.client_type(_IMAGE_SHAPE))
    for dataset in _create_population(labeled_clients=[2, 3]).datasets(1):
      self._assert_is_of_type(
        dataset, pipelines.labeled_client_type(_IMAGE_SHAPE)
      )
    for dataset in _create_population(know_participation=True).datasets(1):
      self._assert_is_of_type(
        dataset, gradient_steps.client_with_participation_type(_IMAGE_SHAPE)
      )


class LabeledDatasetsTest(tf.test.TestCase):
  def test_batched_dataset_keeps_order_and_remainder(self):
    data = _create_data(7)
    chunks = list(pipelines.batched_dataset(data, 3))
    self.assertEqual([len(chunk['label']) for chunk in chunks], [3, 3, 1])
    self.assertAllEqual(
      np.concatenate([chunk['image'] for chunk in chunks]), data.images
    )
    self.assertAllEqual(
      np.concatenate([chunk['label'] for chunk in chunks]), data.labels
    )


class ClientPopulationTest(parameterized.TestCase, tf.test.TestCase):
  @parameterized.parameters(0, 1, 3, 10)
  def test_cohort_has_distinct_clients(self, clients_per_round):
    population = _create_population(clients_per_round=clients_per_round)
    for round_num in range(1, 20):
      cohort = population.cohort(round_num)
      self.assertLen(cohort, clients_per_round)
      self.assertLen(set(cohort), clients_per_round)
      self.assertContainsSubset(cohort, range(10))

  def test_round_0_has_no_clients(self):
    """In round 0 the server trains alone."""
    self.assertEmpty(_create_population().cohort(0))
    self.assertEmpty(_create_population().datasets(0))

  def test_cohort_is_a_function_of_seed_and_round(self):
    first = _create_population(seed=1)
    forwards = [first.cohort(t) for t in range(1, 9)]
    # In any order, as in a resumed run.
    again = _create_population(seed=1)
    self.assertEqual([again.cohort(t) for t in range(8, 0, -1)], forwards[::-1])
    other = _create_population(seed=2)
    self.assertNotEqual([other.cohort(t) for t in range(1, 9)], forwards)
    self.assertGreater(len(set(map(tuple, forwards))), 1)

  def test_all_clients_are_drawn_equally_often(self):
    """Cohorts are drawn uniformly, without replacement."""
    num_rounds = 500
    population = _create_population(clients_per_round=3)
    cohorts = [population.cohort(t) for t in range(1, num_rounds + 1)]
    counts = np.bincount(np.ravel(cohorts), minlength=10)
    # 3 of 10: 150, within 5 standard deviations of sqrt(500 * 0.3 * 0.7).
    self.assertAllClose(counts, np.full(10, 150), rtol=0, atol=51)
    # In random order: each client comes first 50 times, within 5 standard
    # deviations of sqrt(500 * 0.1 * 0.9).
    first = np.bincount([cohort[0] for cohort in cohorts], minlength=10)
    self.assertAllClose(first, np.full(10, 50), rtol=0, atol=33)

  def test_datasets_hold_the_images_of_the_cohort_and_no_label(self):
    data = _create_data(20)
    clients = partition.partition_iid(20, 10, seed=0)
    population = _create_population()
    for round_num in (1, 2):
      datasets = population.datasets(round_num)
      for client, dataset in zip(
        population.cohort(round_num), datasets, strict=True
      ):
        chunk = _get_element(dataset)
        self.assertEqual(list(chunk), ['client_id', 'image'])
        self.assertEqual(chunk['client_id'], client)
        self.assertAllEqual(chunk['image'], data.images[clients[client]])
      for client, labels in zip(
        population.cohort(round_num),
        population.true_labels(round_num),
        strict=True,
      ):
        self.assertAllEqual(labels, data.labels[clients[client]])

  def test_only_labeled_clients_have_labels(self):
    data = _create_data(20)
    clients = partition.partition_iid(20, 10, seed=0)
    population = _create_population(clients_per_round=10, labeled_clients=[4])
    for client, dataset in zip(
      population.cohort(1), population.datasets(1), strict=True
    ):
      expected = data.labels[clients[client]] if client == 4 else []
      self.assertAllEqual(_get_element(dataset)['label'], expected)

  def test_datasets_of_images_at_sites(self):
    images = image_storage.SiteImages(['east', 'north', 'west'], _IMAGE_SHAPE)
    population = pipelines.ClientPopulation(
      sources.ImagePool(images, np.full(3, sources.UNKNOWN_LABEL, np.int32)),
      np.split(np.arange(3), 3),
      clients_per_round=2,
      seed=0,
      know_participation=True,
    )
    for client, dataset in zip(
      population.cohort(1), population.datasets(1), strict=True
    ):
      self.assertIsInstance(dataset, sites.SiteDataset)
      self.assertEqual(dataset.site, images.names[client])
      self.assertEqual(dataset.fields['client_id'], client)
      self.assertEqual(
        list(dataset.element_spec), ['client_id', 'earlier_rounds', 'image']
      )

  def test_clients_know_their_earlier_rounds(self):
    population = _create_population(
      know_participation=True, dropout_probability=0.3
    )
    changed = population.with_clients_per_round(9)
    for each in (population, changed):
      num_updates = [0] * 10
      for round_num in range(12):
        chunks = [_get_element(data) for data in each.datasets(round_num)]
        self.assertEqual(
          [chunk['client_id'] for chunk in chunks], each.cohort(round_num)
        )
        for chunk in chunks:
          self.assertEqual(
            chunk['earlier_rounds'], num_updates[chunk['client_id']]
          )
          num_updates[chunk['client_id']] += 1
      self.assertGreater(len(set(num_updates)), 1)

  def test_any_round_can_be_the_first_or_come_again(self):
    """A resumed run begins later; a diverged run repeats a round."""
    expected = [
      [_get_element(data)['earlier_rounds'] for data in datasets]
      for datasets in map(
        _create_population(know_participation=True).datasets, range(7)
      )
    ]
    for rounds in ((5,), (5, 2, 6), (3, 3, 4)):
      population = _create_population(know_participation=True)
      for round_num in rounds:
        found = map(_get_element, population.datasets(round_num))
        self.assertEqual(
          [chunk['earlier_rounds'] for chunk in found], expected[round_num]
        )

  @parameterized.parameters(-1, 11)
  def test_cohort_out_of_range(self, clients_per_round):
    message = (
      f'{clients_per_round} clients per round cannot be chosen among 10 clients'
    )
    with self.assertRaisesRegex(ValueError, message):
      _create_population(clients_per_round=clients_per_round)
    with self.assertRaisesRegex(ValueError, message):
      _create_population().with_clients_per_round(clients_per_round)


class DropoutTest(parameterized.TestCase):
  def test_cohort_is_of_the_chosen_and_lacks_a_share_of_them(self):
    probability = 0.2
    population = _create_population(
      dropout_probability=probability, clients_per_round=10
    )
    num_rounds = 300
    num_dropped = 0
    for round_num in range(1, num_rounds + 1):
      chosen = population.chosen(round_num)
      cohort = population.cohort(round_num)
      # In the order in which clients were chosen.
      self.assertEqual(cohort, [c for c in chosen if c in cohort])
      num_dropped += len(chosen) - len(cohort)
    draws = 10 * num_rounds
    # Five standard deviations of the binomial distribution.
    self.assertAlmostEqual(
      num_dropped / draws,
      probability,
      delta=5 * np.sqrt(probability * (1 - probability) / draws),
    )


def _cut(structure, scalars, sizes):
  """A dataset of chunks of these sizes, each with its scalars."""
  spec = {
    **{
      name: tf.TensorSpec([], np.asarray(values).dtype)
      for name, values in scalars.items()
    },
    **{
      name: tf.TensorSpec([None, *array.shape[1:]], array.dtype)
      for name, array in structure.items()
    },
  }

  def generate():
    stops = np.cumsum(sizes, dtype=np.int64)
    for index, (stop, size) in enumerate(zip(stops, sizes, strict=True)):
      yield collections.OrderedDict(
        **{name: values[index] for name, values in scalars.items()},
        **{name: a[stop - size : stop] for name, a in structure.items()},
      )

  return tf.data.Dataset.from_generator(
    generate, output_signature=collections.OrderedDict(spec)
  )


def _fold_digits(dataset):
  return pipelines.fold(
    dataset, 0, lambda total, element: 10 * total + element['digit']
  )


class FoldTest(parameterized.TestCase):
  @parameterized.parameters(([], 0), ([1, 2, 3, 4], 1234))
  def test_elements_come_in_order(self, digits, expected):
    dataset = tf.data.Dataset.from_tensor_slices(
      {'digit': np.array(digits, np.int32)}
    )
    self.assertEqual(int(_fold_digits(dataset)), expected)
    computation = tff.tensorflow.computation(
      _fold_digits, tff.SequenceType({'digit': np.int32})
    )
    with runtime.simulation_context():
      self.assertEqual(computation(dataset), expected)

  def test_elements_of_different_sizes(self):
    chunks = tf.data.Dataset.range(7).batch(3)
    total = pipelines.fold(
      chunks,
      tf.constant(0, tf.int64),
      lambda total, chunk: 10 * total + tf.reduce_sum(chunk),
    )
    self.assertEqual(int(total), 10 * (10 * (0 + 1 + 2) + 3 + 4 + 5) + 6)


@tff.tensorflow.computation(pipelines.labeled_type(_IMAGE_SHAPE))
def _concatenate_labeled(dataset):
  return pipelines.concatenate_chunks(dataset)


@tff.tensorflow.computation(pipelines.client_type(_IMAGE_SHAPE))
def _concatenate_client(dataset):
  return pipelines.concatenate_chunks(dataset)


class ConcatenateChunksTest(parameterized.TestCase, tf.test.TestCase):
  def setUp(self):
    super().setUp()
    self.enter_context(runtime.simulation_context())

  @parameterized.parameters([[7]], [[1] * 7], [[0, 5, 0, 2, 0]], [[]])
  def test_any_chunking_gives_the_same_whole(self, sizes):
    data = _create_data(sum(sizes))
    dataset = _cut({'image': data.images, 'label': data.labels}, {}, sizes)
    found = _concatenate_labeled(dataset)
    self.assertAllEqual(found['image'], data.images)
    self.assertAllEqual(found['label'], data.labels)
    self.assertEqual(found['image'].dtype, np.uint8)

  @parameterized.parameters(([7], [4], 4), ([2, 5], [1, 8], 8), ([], [], 0))
  def test_scalars_are_those_of_the_last_chunk(
    self, sizes, client_ids, expected
  ):
    data = _create_data(sum(sizes))
    dataset = _cut(
      {'image': data.images},
      {'client_id': np.array(client_ids, np.int32)},
      sizes,
    )
    found = _concatenate_client(dataset)
    self.assertEqual(found['client_id'], expected)
    self.assertAllEqual(found['image'], data.images)
