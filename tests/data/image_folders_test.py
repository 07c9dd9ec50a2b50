# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of reading a user's folders, with a few small images."""

import io
import os
import pathlib
import shutil
import tempfile
import unicodedata
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
import hypothesis
from hypothesis import strategies
import numpy as np
import PIL.Image

from tests import damage
from tests.data import image_tree
from tff_semifl.data import data_errors
from tff_semifl.data import image_folders
from tff_semifl.data import image_listing
from tff_semifl.data import image_reading


def _read(root, **kwargs):
  form = image_reading.ImageForm(None)
  return image_folders.read_image_folders(str(root), form, **kwargs)


class ReadImageFoldersTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self._root = pathlib.Path(self.create_tempdir().full_path)
    # Every image has a different gray level.
    for path, level in {
      'server/dog/1.png': 10,
      'server/cat/b.png': 21,
      'server/cat/a.png': 20,
      'clients/north/x.png': 30,
      'clients/north/y.png': 31,
      'clients/east/cat.png': 40,
      'test/dog/t.png': 50,
    }.items():
      self._write(path, level)

  def _write(self, path, level, size=(4, 5)):
    file = self._root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    PIL.Image.new('L', (size[1], size[0]), level).save(file)

  def _read(self, **kwargs):
    return _read(self._root, **kwargs)

  def _assert_images(self, images, levels):
    np.testing.assert_array_equal(
      images,
      np.tile(
        np.array(levels, np.uint8)[:, np.newaxis, np.newaxis, np.newaxis],
        [1, 4, 5, 3],
      ),
    )
    self.assertEqual(images.dtype, np.uint8)

  def _assert_data(self, data, levels, labels):
    self._assert_images(data.images, levels)
    np.testing.assert_array_equal(data.labels, labels)
    self.assertEqual(data.labels.dtype, np.int32)

  def test_without_clients(self):
    shutil.rmtree(self._root / 'clients')
    with self.assertRaisesRegex(data_errors.DataError, 'clients is missing'):
      self._read()
    found = self._read(has_clients=False)
    self._assert_data(found.labeled, [20, 21, 10], [0, 0, 1])
    self._assert_images(found.unlabeled, [])
    self.assertEqual(len(found.files), 3 + 1)

  def test_folder_of_a_client(self):
    def read(name):
      form = image_reading.ImageForm((4, 5))
      return image_folders.read_client_folder(str(self._root / name), form)

    self._write('clients/north/a.png', 29, size=(8, 10))
    images, num_resized = read('clients/north')
    self._assert_images(np.asarray(images), [29, 30, 31])
    self.assertEqual(num_resized, 1)
    # Read as another process of the same user would read it.
    found = np.fromfile(images.filename, np.uint8).reshape(images.shape)
    self._assert_images(found, [29, 30, 31])
    # Phones create folders in folders.
    self._write('clients/north/2026/b.png', 28)
    images, *_ = read('clients/north')
    self._assert_images(np.asarray(images), [28, 29, 30, 31])
    (self._root / 'empty').mkdir()
    for name, problem in (
      ('nowhere', 'is missing or is no folder'),
      ('empty', 'has no image in it'),
    ):
      with self.assertRaisesRegex(data_errors.DataError, problem):
        read(name)

  def test_accents_may_be_written_in_two_ways(self):
    composed, decomposed = 'caf\u00e9', 'cafe\u0301'
    for path, level in {
      f'server/{composed}/a.png': 60,
      f'server/{decomposed}/b.png': 61,
      f'clients/{decomposed}/a.png': 62,
      f'clients/{composed}/b.png': 63,
      f'test/{decomposed}/a.png': 64,
    }.items():
      self._write(path, level)
    found = self._read()
    self.assertEqual(found.class_names, (composed, 'cat', 'dog'))
    self._assert_data(found.labeled, [61, 60, 20, 21, 10], [0, 0, 1, 1, 2])
    self._assert_data(found.test, [64, 50], [0, 2])
    self.assertEqual(found.client_names, (composed, 'east', 'north'))
    self.assertEqual([len(share) for share in found.shares], [2, 1, 2])
    self.assertEqual(
      found.files[:2],
      [f'server/{decomposed}/b.png', f'server/{composed}/a.png'],
    )

  def test_reads_all_in_the_order_of_names(self):
    found = self._read()
    self.assertEqual(found.class_names, ('cat', 'dog'))
    self._assert_data(found.labeled, [20, 21, 10], [0, 0, 1])
    self.assertEqual(found.client_names, ('east', 'north'))
    self._assert_images(found.unlabeled, [40, 30, 31])
    self.assertEqual([each.tolist() for each in found.shares], [[0], [1, 2]])
    # Labels are the server's class numbers, though the folder has only one
    # class.
    self._assert_data(found.test, [50], [1])

  def test_links_do_not_give_a_client_the_images_of_others(self):
    (self._root / 'clients/north/up').symlink_to('..')
    (self._root / 'clients/north/root').symlink_to(self._root)
    self._assert_images(self._read().unlabeled, [40, 30, 31])
    for name in ('clients/loop', 'server/loop'):
      link = self._root / name
      link.symlink_to('.')
      with self.assertRaisesRegex(
        data_errors.DataError, f'{name} is a link to a folder that it'
      ):
        self._read()
      link.unlink()

  def test_size_of_images_of_several_sizes(self):
    self._write('clients/north/x.png', 30, size=(8, 10))
    found = self._read_default_size(largest=5, otherwise=(6, 6))
    # All of the server's images have this size.
    self.assertEqual(found.unlabeled.shape, (3, 4, 5, 3))
    self.assertEqual((found.num_resized, len(found.files)), (1, 7))
    self._write('server/dog/1.png', 10, size=(5, 4))
    found = self._read_default_size(largest=5, otherwise=(6, 6))
    self.assertEqual(found.unlabeled.shape, (3, 6, 6, 3))
    self.assertEqual((found.num_resized, len(found.files)), (7, 7))

  def _read_default_size(self, largest, otherwise):
    with mock.patch.multiple(
      image_folders, MAX_DEFAULT_SIZE=largest, DEFAULT_SIZE=otherwise
    ):
      return self._read()

  @parameterized.named_parameters(
    ('server', 'server', 'server is missing or is no folder'),
    ('classes', 'server/*', 'server has no folder in it'),
    ('a_class', 'server/dog', 'server has one class only'),
    ('class_images', 'server/dog/*', 'server/dog is empty'),
    ('client_images', 'clients/*/*', 'clients has no image in it'),
    ('test_classes', 'test/*', 'test has no folder in it'),
  )
  def test_names_what_is_missing(self, pattern, message):
    for path in self._root.glob(pattern):
      shutil.rmtree(path) if path.is_dir() else path.unlink()
    with self.assertRaisesRegex(data_errors.DataError, message):
      self._read()

  @parameterized.named_parameters(
    ('image', 'clients/a.png', 'clients/a.png is a file where a folder'),
    ('folder', 'server/cat/x/a.png', 'server/cat/x is a folder where an image'),
    ('class', 'test/horse/a.png', 'test/horse is no class of the server'),
  )
  def test_names_what_is_out_of_place(self, path, message):
    self._write(path, 1)
    with self.assertRaisesRegex(data_errors.DataError, message):
      self._read()


def _encode(image_format, size):
  content = io.BytesIO()
  PIL.Image.new('RGB', (size, size)).save(content, image_format)
  return content.getvalue()


class DamagedFoldersTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    folder = pathlib.Path(self.create_tempdir().full_path)
    self._root = image_tree.write_tree(folder / 'photos')

  def _read(self, root=None, **kwargs):
    return _read(root or self._root, **kwargs)

  @hypothesis.given(
    strategies.lists(
      strategies.tuples(
        strategies.sampled_from(
          ['server/cat', 'server/dog', 'server', 'clients', 'clients/east']
          + ['clients/south', 'test', 'test/dog', 'test/bird', '.']
        ),
        strategies.sampled_from(
          ['a.png', 'c.png', '.hidden', 'Thumbs.db', 'x y', 'a\nb', 'é', '🐱']
        ),
        strategies.sampled_from(
          [None, b'', b'no image', _encode('PNG', 16), _encode('JPEG', 9)]
        ),
      ),
      max_size=3,
    )
  )
  @damage.settings(max_examples=60)
  def test_tree_is_read_whole_or_refused_in_a_line(self, additions):
    with tempfile.TemporaryDirectory() as folder:
      root = image_tree.write_tree(pathlib.Path(folder) / 'photos')
      for parent, name, content in additions:
        path = root / parent / name
        path.parent.mkdir(exist_ok=True)
        if path.is_dir():
          continue
        if content is None:
          path.unlink(missing_ok=True)
          path.mkdir()
        else:
          path.write_bytes(content)
      try:
        found = self._read(root)
      except data_errors.DataError as error:
        self.assertStartsWith(str(error), f'in {root}: ')
        self.assertNotIn('\n', str(error))
        return
      # Only files that operating systems leave behind are ignored.
      for part, images in (
        ('server', found.labeled.images),
        ('clients', found.unlabeled),
        ('test', found.test.images),
      ):
        names = [
          path.name for path in (root / part).glob('*/*') if path.is_file()
        ]
        wanted = [n for n in names if n not in ('.hidden', 'Thumbs.db')]
        self.assertLen(images, len(wanted))
      self.assertLen(found.client_names, len(found.shares))

  def test_name_that_no_saved_model_can_have(self):
    # A name in Latin-1, as in old archives.
    for folder in ('server', 'test'):
      os.rename(
        os.fsencode(self._root / folder / 'cat'),
        os.fsencode(self._root / folder) + b'/caf\xe9',
      )
    with self.assertRaisesRegex(
      data_errors.DataError, 'server/caf.* has a line break or no Uni'
    ) as raised:
      self._read()
    # Messages are printable in any encoding.
    str(raised.exception).encode(errors='backslashreplace')


_FORMS = ('NFC', 'NFD')


class ClientLabelsTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self._root = image_tree.write_tree(
      pathlib.Path(self.create_tempdir().full_path)
    )

  def _read(self, content):
    (self._root / 'clients/east/labels.csv').write_text(content)
    return _read(self._root)

  def test_labels_of_a_client(self):
    plain = _read(self._root)
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


class ClassFoldersTest(parameterized.TestCase):
  """Clients with labels to train on."""

  def setUp(self):
    super().setUp()
    self._root = image_tree.write_tree(
      pathlib.Path(self.create_tempdir().full_path)
    )

  def _write(self, *paths):
    for path in paths:
      image_tree.write_image(self._root / 'clients' / path, 90)

  def test_labels_of_some_images_of_some_clients(self):
    self._write('east/2026/05/c.png')
    self.assertEmpty(_read(self._root).labeled_clients)
    shutil.rmtree(self._root / 'clients/east/2026')
    self._write('north/dog/a.png', 'north/cat/b.png')
    found = _read(self._root)
    self.assertEqual(found.client_names, ('east', 'north', 'south'))
    self.assertEqual(found.labeled_clients, [1])
    # East has two images; north has one beside the folders.
    self.assertEqual(found.files[-1], 'clients/north/dog/a.png')
    np.testing.assert_array_equal(found.unlabeled_labels, [-1, -1, -1, 0, 1])

  @parameterized.parameters(
    (['north/cow/b.png'], 'clients/north/cow is no class of the server'),
    (['east/2026/b.png'], 'clients/east/2026 is no class of the server'),
    (['north/dog/new/b.png'], 'clients/north/dog/new is no class'),
  )
  def test_names_an_unknown_class(self, paths, message):
    self._write('north/dog/a.png', *paths)
    with self.assertRaisesRegex(data_errors.DataError, message):
      _read(self._root)

  def test_labels_for_metrics_as_well(self):
    self._write('north/dog/a.png')
    content = 'file,label\na.png,dog\n'
    (self._root / 'clients/north/labels.csv').write_text(content)
    with self.assertRaisesRegex(
      data_errors.DataError, "client 'north' has labels for training"
    ):
      _read(self._root)


class ListTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self._root = pathlib.Path(self.create_tempdir().full_path)
    for path in ('dog/a.png', 'cat/b.png', 'cat/a.jpg', 'cat/.hidden'):
      (self._root / path).parent.mkdir(exist_ok=True)
      (self._root / path).touch()

  def test_files_of_classes(self):
    self.assertEqual(
      image_listing.list_classes(str(self._root)),
      {
        'cat': [self._root / 'cat/a.jpg', self._root / 'cat/b.png'],
        'dog': [self._root / 'dog/a.png'],
      },
    )

  def test_files_and_those_of_folders_in_folders(self):
    self.assertEqual(
      image_listing.list_files(
        [str(self._root / 'dog/a.png'), str(self._root)]
      ),
      [
        self._root / name
        for name in ('dog/a.png', 'cat/a.jpg', 'cat/b.png', 'dog/a.png')
      ],
    )

  def test_nothing_to_list(self):
    (self._root / 'owl').mkdir()
    for name, reason in (
      ('owl', 'has no file in it'),
      ('newt', 'is missing'),
      ('x' * 300, 'is missing'),
    ):
      with self.assertRaisesRegex(data_errors.DataError, f'/{name} {reason}$'):
        image_listing.list_files([str(self._root / name)])
