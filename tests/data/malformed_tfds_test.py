# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of folders of TensorFlow Datasets with damaged files."""

import pathlib
import shutil
import tempfile

from absl.testing import absltest
from absl.testing import parameterized
import hypothesis
from hypothesis import strategies
import numpy as np
import pytest

from tests import damage
from tests.data import tfds_files
from tff_semifl.data import data_errors
from tff_semifl.data import tfds_images

_DATA = tfds_files.random_cifar10(8, seed=1)


class MalformedTfdsTest(parameterized.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.folder = pathlib.Path(tempfile.mkdtemp())
    cls.addClassCleanup(shutil.rmtree, cls.folder)
    tfds_files.write_cifar10(str(cls.folder), {'train': _DATA})
    [records] = cls.folder.glob('*/*/*-train.*')
    cls.records = records
    cls.content = records.read_bytes()
    cls.info = records.with_name('dataset_info.json')
    cls.info_text = cls.info.read_text()

  def setUp(self):
    super().setUp()
    # Nothing is downloaded.
    self.enter_context(tfds_files.offline())
    self.addCleanup(self.records.write_bytes, self.content)
    self.addCleanup(self.info.write_text, self.info_text)

  def _load(self):
    [found] = tfds_images.load('cifar10', ['train'], str(self.folder))
    return found

  def _assert_refused(self, *parts):
    with self.assertRaises(data_errors.DataError) as raised:
      self._load()
    message = str(raised.exception)
    self.assertNotIn('\n', message)
    for part in parts:
      self.assertIn(part, message)

  @hypothesis.given(strategies.data())
  @damage.settings(max_examples=40)
  @pytest.mark.slow
  def test_records_are_as_they_were_or_refused(self, data):
    self.records.write_bytes(data.draw(damage.damaged(self.content)))
    try:
      found = self._load()
    except data_errors.DataError as error:
      self.assertStartsWith(
        str(error), "split 'train' of data set 'cifar10' cannot be read ("
      )
      self.assertNotIn('\n', str(error))
    else:
      np.testing.assert_array_equal(found.images, _DATA.images)
      np.testing.assert_array_equal(found.labels, _DATA.labels)

  def test_message_says_what_and_what_to_do(self):
    self.records.write_bytes(self.content[:-1] + b'?')
    self._assert_refused(
      'cannot be read (corrupted record at ',
      f'with {self.records.parent} removed, it would be downloaded again',
    )
    self.records.unlink()
    self._assert_refused('No such file or directory)')

  @parameterized.parameters('', '{')
  def test_description_that_is_none(self, text):
    self.info.write_text(text)
    self._assert_refused('cifar10')


if __name__ == '__main__':
  absltest.main()
