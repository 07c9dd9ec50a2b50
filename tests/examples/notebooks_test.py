# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Runs the example notebooks, and checks their stored outputs."""

import os
import pathlib
import re
from unittest import mock

from absl.testing import parameterized
import nbclient
import nbformat
import pytest
import tensorflow_datasets as tfds

from tests.repository import source_tree

_ON_FASHION_MNIST = 'network_from_forty_labels'
_NOTEBOOKS = (_ON_FASHION_MNIST, 'own_photos_and_method', 'semifl_on_digits')
_FOLDER = source_tree.PROJECT_ROOT / 'examples'
_VERSION = 4
# Settings that take time.
_NUMBERS = re.compile(r'\b(total_rounds|client_epochs|server_epochs)=\d+,')
# Building a WideResNet and RandAugment takes longer than all rounds here.
_WITH_LITTLE_TO_BUILD = """
import contextlib
from tests import small_digits
contexts = contextlib.ExitStack()
contexts.enter_context(small_digits.without_rand_augment())
contexts.enter_context(small_digits.without_wide_resnet())
"""
# Absolute POSIX paths with at least two folders.
_ABSOLUTE_PATH = re.compile(r'(?<![\w.~])/\w[\w.-]*/[\w.-]+/')


def _read(name):
  return nbformat.read(_FOLDER / f'{name}.ipynb', _VERSION)


def _find_code(notebook):
  return [cell for cell in notebook.cells if cell.cell_type == 'code']


def _find_text(cell):
  """The text that a cell printed."""
  return ''.join(
    output.text for output in cell.outputs if output.get('name') == 'stdout'
  )


def _find_kinds(cell):
  """The MIME types of a cell's outputs, sorted, without warnings."""
  kinds = set()
  for output in cell.outputs:
    kinds.update([output.name] if 'name' in output else output.data)
  # Warnings depend on the number of rounds.
  return sorted(kinds - {'stderr'})


def _find_accuracies(cells):
  """The accuracies that cells printed, in percent."""
  printed = ''.join(map(_find_text, cells))
  return [float(found) for found in re.findall(r': ([\d.]+)%', printed)]


def _least(setting):
  """Replaces a setting by the smallest number that produces all outputs."""
  name = setting.group(1)
  return f'{name}={2 if name == "total_rounds" else 1},'


class NotebooksTest(parameterized.TestCase):
  def test_all_are_tested(self):
    self.assertCountEqual(
      [path.stem for path in _FOLDER.glob('*.ipynb')], _NOTEBOOKS
    )

  @parameterized.parameters(*_NOTEBOOKS)
  def test_was_run_from_start_to_end_and_has_pictures(self, name):
    cells = _find_code(_read(name))
    self.assertEqual(
      [cell.execution_count for cell in cells], [*range(1, len(cells) + 1)]
    )
    pictures = [cell for cell in cells if 'image/png' in _find_kinds(cell)]
    self.assertGreaterEqual(len(pictures), 3)
    for cell in cells:
      text = cell.source + _find_text(cell)
      self.assertNotRegex(text, _ABSOLUTE_PATH)
      self.assertEqual(cell.metadata, {})
    alone, semifl, *_ = _find_accuracies(cells)
    self.assertGreater(semifl, alone + 2)

  @parameterized.parameters(*_NOTEBOOKS)
  @pytest.mark.slow
  def test_runs_and_shows_what_is_stored(self, name):
    if name == _ON_FASHION_MNIST:
      if not tfds.builder('fashion_mnist').is_prepared():
        self.skipTest('fashion_mnist is not prepared in TFDS_DATA_DIR')
    notebook = _read(name)
    stored = [_find_kinds(cell) for cell in _find_code(notebook)]
    num_accuracies = len(_find_accuracies(_find_code(notebook)))
    # All rounds would take a minute, and test nothing more.
    for cell in _find_code(notebook):
      cell.source = _NUMBERS.sub(_least, cell.source)
    # After the first cell, which sets TensorFlow's log level.
    first = notebook.cells.index(_find_code(notebook)[0])
    inserted = nbformat.v4.new_code_cell(_WITH_LITTLE_TO_BUILD)
    notebook.cells.insert(first + 1, inserted)
    path = pathlib.Path(self.create_tempdir().full_path) / 'examples'
    path.mkdir()
    client = nbclient.NotebookClient(
      notebook, timeout=900, resources={'metadata': {'path': str(path)}}
    )
    # The package is not beside this folder.
    root = str(source_tree.PROJECT_ROOT)
    with mock.patch.dict(os.environ, {'PYTHONPATH': root}):
      client.execute()
    notebook.cells.remove(inserted)
    cells = _find_code(notebook)
    self.assertEqual([_find_kinds(cell) for cell in cells], stored)
    self.assertLen(_find_accuracies(cells), num_accuracies)
