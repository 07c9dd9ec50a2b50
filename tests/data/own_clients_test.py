# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of the forms in which clients' images and shares may be given."""

import json
import pathlib

from absl.testing import parameterized
import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

from tff_semifl.data import own_clients

_IMAGES = np.arange(6 * 64, dtype=np.uint8).reshape(6, 8, 8, 1)
# The clients have 3, 1 and 2 of them.
_PARTS = [_IMAGES[:3], _IMAGES[3:4], _IMAGES[4:]]
_SHARES = [[0, 1, 2], [3], [4, 5]]


def _nothing():
  return tf.data.Dataset.from_tensor_slices(_IMAGES).take(0)


class ConcatenateTest(parameterized.TestCase, tf.test.TestCase):
  @parameterized.named_parameters(
    ('list', _PARTS),
    ('by_name', dict(zip('cab', _PARTS, strict=True))),
    # A client's images may all be dark.
    ('floats_in_0_to_1', [part / 255 for part in _PARTS]),
    ('datasets', [*map(tf.data.Dataset.from_tensor_slices, _PARTS)]),
    (
      'batched_datasets_with_labels',
      [
        tf.data.Dataset.from_tensor_slices((part, range(len(part)))).batch(2)
        for part in _PARTS
      ],
    ),
    (
      'client_data',
      tff.simulation.datasets.TestClientData(
        {
          name: {'label': list(range(len(part))), 'pixels': part[..., 0] / 255}
          for name, part in zip('abc', _PARTS, strict=True)
        }
      ),
    ),
  )
  def test_accepts(self, clients):
    images, shares, names = own_clients.concatenate('clients', clients)
    self.assertEqual(images.dtype, np.uint8)
    self.assertAllEqual(images, _IMAGES)
    self.assertSequenceEqual([share.tolist() for share in shares], _SHARES)
    self.assertIn(''.join(names), ('012', 'abc', 'cab'))

  @parameterized.named_parameters(
    ('array', _IMAGES[:0]), ('list', []), ('dataset', _nothing())
  )
  def test_a_client_may_have_no_images(self, nothing):
    images, shares, _ = own_clients.concatenate(
      'clients', [nothing, _IMAGES[:4], nothing, _IMAGES[4:]]
    )
    self.assertAllEqual(images, _IMAGES)
    self.assertSequenceEqual(
      [share.tolist() for share in shares], [[], [0, 1, 2, 3], [], [4, 5]]
    )

  @parameterized.named_parameters(
    ('none', [], 'clients: found no images'),
    (
      'different_sizes',
      [_IMAGES, np.zeros((2, 9, 8, 1))],
      r'clients\[1\]: found images of shape',
    ),
    (
      'labels_of_each_client',
      {'ann': (_IMAGES, [0] * 6)},
      r"clients\['ann'\]: found a pair of arrays of",
    ),
    (
      'images_and_labels_of_all',
      (_IMAGES, np.zeros(6)),
      r'clients\[1\]: found an array of shape',
    ),
    ('all_in_one_array', _IMAGES, 'clients: found a ndarray'),
    (
      'another_scale',
      {'ann': _PARTS[0], 'bob': _PARTS[2] / 255},
      r"clients\['bob'\]: found floats in 0\.\.1,",
    ),
  )
  def test_refuses(self, clients, message):
    with self.assertRaisesRegex(ValueError, f'^{message}'):
      own_clients.concatenate('clients', clients)


class ReadSharesTest(parameterized.TestCase):
  def _write(self, name, text):
    path = pathlib.Path(self.create_tempdir()) / name
    path.write_text(text)
    return path

  def _assert_shares(self, shares):
    found, names = own_clients.read_shares('shares', shares, 6)
    self.assertSequenceEqual([share.tolist() for share in found], _SHARES)
    self.assertSetEqual({share.dtype for share in found}, {np.dtype(np.int64)})
    self.assertIn(''.join(names), ('012', 'cab'))

  @parameterized.named_parameters(
    ('lists', _SHARES),
    ('arrays', [np.array(share, np.int32) for share in _SHARES]),
    ('by_name', dict(zip('cab', _SHARES, strict=True))),
  )
  def test_accepts(self, shares):
    self._assert_shares(shares)

  def test_reads_files(self):
    by_name = dict(zip('cab', _SHARES, strict=True))
    self._assert_shares(self._write('shares.json', json.dumps(by_name)))
    self._assert_shares(str(self._write('list.json', json.dumps(_SHARES))))
    rows = [f'{name},{i}' for name, share in by_name.items() for i in share]
    text = '\n'.join(['client,index', *rows])
    self._assert_shares(self._write('shares.csv', text))
    # With the byte order mark of spreadsheets.
    self._assert_shares(self._write('marked.csv', f'\ufeff{text}'))

  def test_accents_of_a_client_may_be_written_in_two_ways(self):
    text = 'client,index\n\u00e9,0\nb,1\ne\u0301,2'
    found, names = own_clients.read_shares(
      'shares', self._write('a.csv', text), 3
    )
    self.assertEqual([share.tolist() for share in found], [[0, 2], [1]])
    self.assertEqual(names, ['\u00e9', 'b'])

  def test_an_array_has_a_row_for_each_client(self):
    found, _ = own_clients.read_shares('shares', np.arange(6).reshape(2, 3), 6)
    self.assertSequenceEqual(
      [share.tolist() for share in found], [[0, 1, 2], [3, 4, 5]]
    )

  def test_images_and_clients_may_be_without_another(self):
    found, names = own_clients.read_shares('shares', {'ann': [4, 0], 7: []}, 6)
    self.assertSequenceEqual([share.tolist() for share in found], [[4, 0], []])
    self.assertEqual(names, ['ann', '7'])

  @parameterized.named_parameters(
    ('none', [], 'shares: found no images'),
    ('two_owners', [[0, 1], [1]], 'shares: found the index 1 more than once'),
    (
      'an_image_that_is_not_there',
      [[0], [6]],
      r'shares\[1\]: found the index 6',
    ),
    ('one_list', [0, 1, 2], r'shares\[0\]: found int64 of shape \(\)'),
    ('a_number', 3, 'shares: found a int'),
  )
  def test_refuses(self, shares, message):
    with self.assertRaisesRegex(ValueError, f'^{message}'):
      own_clients.read_shares('shares', shares, 6)

  @parameterized.named_parameters(
    ('another_suffix', 'shares.txt', '', 'the file .*; give a .json or a .csv'),
    ('other_columns', 'a.csv', 'who,what\n1,2', 'in .*a.csv what cannot be'),
    (
      'a_client_twice',
      'a.json',
      '{"ann": [0], "ann": [1]}',
      "in .*a.json what cannot be read .*'ann'",
    ),
    ('too_deep', 'a.json', '[' * 100_000, 'in .*a.json what cannot be read'),
    (
      'an_open_quote',
      'a.csv',
      'client,index\n"' + 'x' * 200_000,
      'in .*a.csv what cannot be read',
    ),
  )
  def test_refuses_files(self, name, text, message):
    with self.assertRaisesRegex(ValueError, f'^shares: found {message}'):
      own_clients.read_shares('shares', self._write(name, text), 6)


if __name__ == '__main__':
  tf.test.main()
