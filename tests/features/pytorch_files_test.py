# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of reading PyTorch's checkpoints without PyTorch."""

import os
import pathlib
import zipfile

from absl.testing import absltest
from absl.testing import parameterized
import hypothesis
from hypothesis import strategies
import numpy as np

from tests import damage
from tests.features import pytorch_checkpoint
from tff_semifl.features import efficientnet_lite

_ELEMENTS = np.arange(6, dtype=np.float32)


class _Command:
  """An object that would run a shell command when unpickled."""

  def __init__(self, command):
    self._command = command

  def __reduce__(self):
    return os.system, (self._command,)


class PyTorchFilesTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self._path = pathlib.Path(self.create_tempdir().full_path) / 'a.pth'

  def _read(self, content):
    pytorch_checkpoint.write(self._path, content)
    return efficientnet_lite.read(self._path)

  def test_reads_tensors_of_several_types_in_order(self):
    arrays = {
      'a.weight': np.float32([[1.5, -2], [3, 4]]),
      'b': np.int64(7).reshape(()),
      'empty': np.zeros([0, 3], np.float32),
    }
    found = self._read(
      {name: pytorch_checkpoint.whole(each) for name, each in arrays.items()}
    )
    self.assertEqual(list(found), list(arrays))
    for name, array in arrays.items():
      self.assertEqual(found[name].dtype, array.dtype)
      self.assertEqual(found[name].shape, array.shape)
      np.testing.assert_array_equal(found[name], array)

  def test_reads_views_of_a_shared_storage(self):
    found = self._read(
      {
        'transposed': pytorch_checkpoint.Tensor(_ELEMENTS, 0, (3, 2), (1, 3)),
        'end': pytorch_checkpoint.Tensor(_ELEMENTS, 4, (2,), (1,)),
      }
    )
    np.testing.assert_array_equal(found['transposed'], [[0, 3], [1, 4], [2, 5]])
    np.testing.assert_array_equal(found['end'], [4, 5])

  @parameterized.parameters(
    (0, (7,), (1,)),
    (0, (2, 2), (4, 4)),
    (0, (2,), (-1,)),
    (-1, (2,), (1,)),
    # A view as large as the memory, of one element.
    (0, (2**20, 2**20), (0, 0)),
  )
  def test_refuses_a_view_beyond_its_storage(self, *view):
    with self.assertRaisesRegex(
      efficientnet_lite.PyTorchFileError, r'a\.pth is damaged.*: a tensor '
    ):
      self._read({'a': pytorch_checkpoint.Tensor(_ELEMENTS, *view)})

  def test_runs_no_code(self):
    witness = self._path.with_name('witness')
    pytorch_checkpoint.write(self._path, _Command(f'touch {witness}'))
    with self.assertRaisesRegex(
      efficientnet_lite.PyTorchFileError,
      r'a\.pth is refused: it asks for posix\.system, and a checkpoint of'
      ' tensors needs no such code$',
    ):
      efficientnet_lite.read(self._path)
    self.assertFalse(witness.exists())

  @parameterized.parameters(
    (print, r'it asks for (__builtin__|builtins)\.print'),
    (np.dtype, r'it asks for numpy\.dtype'),
    ([1], 'holds no state_dict'),
    ({'epoch': 3}, 'holds no state_dict'),
  )
  def test_refuses_what_is_no_tensor(self, content, message):
    with self.assertRaisesRegex(efficientnet_lite.PyTorchFileError, message):
      self._read(content)

  def test_refuses_other_files(self):
    with self.assertRaisesRegex(
      efficientnet_lite.PyTorchFileError, r'a\.pth cannot be read: No such file'
    ):
      efficientnet_lite.read(self._path)
    for content in (b'', b'abc', b'\x80\x02K\x01.'):
      self._path.write_bytes(content)
      with self.assertRaisesRegex(
        efficientnet_lite.PyTorchFileError, r'a\.pth is damaged, or no PyTorch'
      ):
        efficientnet_lite.read(self._path)
    with zipfile.ZipFile(self._path, 'w') as archive:
      archive.writestr('archive/data.pkl', b'')
    with self.assertRaisesRegex(
      efficientnet_lite.PyTorchFileError, 'ZIP.*_use_new_zipfile_serialization'
    ):
      efficientnet_lite.read(self._path)

  def test_reads_a_damaged_file_or_says_so(self):
    pytorch_checkpoint.write(
      self._path, {'a': pytorch_checkpoint.whole(_ELEMENTS)}
    )
    content = self._path.read_bytes()

    @damage.settings(max_examples=100)
    @hypothesis.given(strategies.data())
    def check(data):
      self._path.write_bytes(data.draw(damage.damaged(content)))
      try:
        found = efficientnet_lite.read(self._path)
      except efficientnet_lite.PyTorchFileError as error:
        self.assertNotIn('\n', str(error))
        self.assertIn('a.pth', str(error))
      else:
        self.assertTrue(all(each.size <= 6 for each in found.values()))

    check()


if __name__ == '__main__':
  absltest.main()
