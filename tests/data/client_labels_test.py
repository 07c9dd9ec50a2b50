# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of labels.csv in clients' folders, which are for metrics only."""

import pathlib
import unicodedata

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np

from tests.data import image_tree
from tff_semifl.data import data_errors
from tff_semifl.data import image_folders
from tff_semifl.data import image_reading

_FORMS = ('NFC', 'NFD')


class ClientLabelsTest(parameterized.TestCase):
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
