# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of reading labels that only measure."""

import pathlib
import unicodedata

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np

from tests.data import image_tree
from tff_semifl.data import data_errors
from tff_semifl.data import image_folders
from tff_semifl.data import image_reading
from tff_semifl.data import measuring_labels

_NAMES = ('cat', 'dog')
_FORMS = ('NFC', 'NFD')


class IndexTest(parameterized.TestCase):
  @parameterized.parameters(
    ([0, -1, 1],), (['cat', '', 'dog'],), ([[0], [-1], [1]],)
  )
  def test_some_are_unknown(self, labels):
    found = measuring_labels.index('a', labels, 3, _NAMES)
    np.testing.assert_array_equal(found, [0, -1, 1])
    self.assertEqual(found.dtype, np.int32)

  def test_by_client(self):
    shares = [np.arange(2), np.arange(2, 5), np.arange(5, 5), np.arange(5, 6)]
    labels = {'a': ['dog', 'cat'], 'b': None, 'c': [], 'd': ['dog']}
    for given in (labels, list(labels.values())):
      found = measuring_labels.index_by_client('a', given, shares, _NAMES)
      np.testing.assert_array_equal(found, [1, 0, -1, -1, -1, 1])

  @parameterized.parameters(
    ([[0]], '^l: found labels of 1 clients, but images of'),
    ([[0], [0]], r'^l\[1\]: found 2 images and 1 labels'),
    ([['owl'], None], r"^l\[0\]: found the label 'owl'"),
  )
  def test_refuses(self, labels, message):
    with self.assertRaisesRegex(ValueError, message):
      measuring_labels.index_by_client(
        'l', labels, [np.arange(1), np.arange(1, 3)], _NAMES
      )


class FilesTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self._root = image_tree.write_tree(
      pathlib.Path(self.create_tempdir().full_path)
    )

  def _read_all(self):
    return image_folders.read_image_folders(
      str(self._root), image_reading.ImageForm(None)
    )

  def _read(self, content):
    (self._root / 'clients/east/labels.csv').write_text(content)
    return self._read_all()

  def test_labels_of_a_client(self):
    plain = self._read_all()
    np.testing.assert_array_equal(plain.unlabeled_labels, [-1, -1, -1])
    found = self._read('file,label\nb.png,dog\n')
    # The files are east/a.jpg, east/b.png and north/a.png.
    np.testing.assert_array_equal(found.unlabeled_labels, [-1, 1, -1])
    np.testing.assert_array_equal(found.unlabeled, plain.unlabeled)
    self.assertEqual(found.files, plain.files)

  @parameterized.product(form=_FORMS, path=['é.png', 'é/b.png'])
  def test_names_of_another_unicode_form(self, form, path):
    folder = self._root / 'clients/east'
    spelled = {each: unicodedata.normalize(each, path) for each in _FORMS}
    place = folder / spelled[form]
    place.parent.mkdir(exist_ok=True)
    (folder / 'b.png').rename(place)
    for other in _FORMS:
      found = self._read(f'file,label\n{spelled[other]},dog\n')
      np.testing.assert_array_equal(found.unlabeled_labels, [-1, 1, -1])

  @parameterized.parameters(
    ('file,label\nc.png,dog\n', 'labels.csv names c.png, which is no image'),
    ('file,label\nb.png,owl\n', 'has the label owl, which is no class'),
    ('b.png,dog\n', 'cannot be read .it needs the columns file'),
  )
  def test_names_what_is_wrong(self, content, message):
    with self.assertRaisesRegex(data_errors.DataError, message):
      self._read(content)


if __name__ == '__main__':
  absltest.main()
