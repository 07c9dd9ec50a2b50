# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of damaged image files and folders."""

import io
import os
import pathlib
import tempfile

from absl.testing import absltest
from absl.testing import parameterized
import hypothesis
from hypothesis import strategies
import numpy as np
import PIL.Image

from tests import damage
from tests.data import image_tree
from tff_semifl.data import image_files
from tff_semifl.data import image_folders
from tff_semifl.data import image_listing
from tff_semifl.data import image_reading

_FORMATS = ('PNG', 'JPEG', 'GIF', 'BMP', 'TIFF', 'WEBP', 'PPM')


def _encode(image_format, size=12):
  pixels = np.random.default_rng(0).integers(
    256, size=(size, size, 3), dtype=np.uint8
  )
  content = io.BytesIO()
  PIL.Image.fromarray(pixels).save(content, image_format)
  return content.getvalue()


class ImageFilesTest(parameterized.TestCase):
  @parameterized.parameters(*_FORMATS)
  @damage.settings(max_examples=20)
  @hypothesis.given(strategies.data())
  def test_file_is_an_image_or_an_error_of_one_line(self, image_format, data):
    content = data.draw(damage.damaged(_encode(image_format)))
    shape = data.draw(
      strategies.sampled_from([(12, 12, 3), (12, 12, 1), (5, 7, 3)])
    )
    on_odd_size = data.draw(strategies.sampled_from(image_files.OnOddSize))
    with tempfile.NamedTemporaryFile() as file:
      pathlib.Path(file.name).write_bytes(content)
      try:
        found = image_files.read_image(
          pathlib.Path(file.name), shape, on_odd_size
        )
      except image_files.ImageFileError as error:
        self.assertNotEmpty(str(error))
        self.assertNotIn('\n', str(error))
      else:
        self.assertEqual(found.pixels.shape, shape)
        self.assertEqual(found.pixels.dtype, np.uint8)

  @hypothesis.given(strategies.binary(max_size=100))
  @damage.settings(max_examples=50)
  def test_file_of_any_bytes(self, content):
    with tempfile.NamedTemporaryFile() as file:
      pathlib.Path(file.name).write_bytes(content)
      with self.assertRaises(image_files.ImageFileError):
        image_files.read_size(pathlib.Path(file.name))

  def test_what_is_no_file_is_not_opened(self):
    """Opening a pipe would wait for its writer."""
    folder = pathlib.Path(self.create_tempdir().full_path)
    os.mkfifo(folder / 'pipe.png')
    (folder / 'loop.png').symlink_to('loop.png')
    (folder / 'gone.png').symlink_to('nowhere.png')
    (folder / 'folder.png').mkdir()
    for name in ('pipe', 'loop', 'gone', 'folder', 'none', 'x' * 300):
      with self.assertRaisesRegex(
        image_files.ImageFileError, '^is neither a file nor a link to one$'
      ):
        image_files.read_size(folder / f'{name}.png')


class ImageFoldersTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    folder = pathlib.Path(self.create_tempdir().full_path)
    self._root = image_tree.write_tree(folder / 'photos')

  def _read(self, root=None, **kwargs):
    return image_folders.read_image_folders(str(root or self._root), **kwargs)

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
      except image_listing.ImageFolderError as error:
        self.assertStartsWith(str(error), f'in {root}: ')
        self.assertNotIn('\n', str(error))
        return
      # Only files that operating systems leave behind are dropped.
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
      image_listing.ImageFolderError, 'server/caf.* has a name that is no Uni'
    ) as raised:
      self._read()
    # Messages are printable in any encoding.
    str(raised.exception).encode(errors='backslashreplace')

  def test_name_of_an_image_may_be_any_bytes(self):
    os.rename(
      self._root / 'clients/east/b.png',
      os.fsencode(self._root) + b'/clients/east/\xe9.png',
    )
    self.assertLen(self._read().unlabeled, 3)

  @parameterized.parameters('x' * 300, '\0')
  def test_root_that_cannot_be(self, root):
    with self.assertRaisesRegex(
      image_listing.ImageFolderError, 'is missing or is no folder$'
    ):
      self._read(root)

  def test_folder_that_may_not_be_read(self):
    if os.geteuid() == 0:
      self.skipTest('nothing is forbidden to root')
    folder = self._root / 'clients/east'
    folder.chmod(0)
    self.addCleanup(folder.chmod, 0o700)
    with self.assertRaisesRegex(
      image_listing.ImageFolderError, f'{folder} cannot be read .Permission'
    ):
      self._read()

  def test_size_that_no_memory_holds(self):
    for size in ((10**6, 10**6), (10**12, 1), (1, 10**20)):
      with self.assertRaisesRegex(
        image_reading.LargeImageError,
        f'^4 images of {size[0]}x{size[1]} do not fit into the memory$',
      ):
        self._read(image_size=size)


if __name__ == '__main__':
  absltest.main()
