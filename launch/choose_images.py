# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

r"""Chooses images to label: typical images of many kinds.

  python -m launch.choose_images --image_dir=new_photos --number=40 \
    --copy_to=photos

This writes a table, results/chosen_images.csv, with the most useful image
first, and a page with small images, results/chosen_images.html. --copy_to
copies the images to photos/to_sort; sort the copies into photos/server/<class>.
Then choose ten more, which differ from the labeled images and are hard to
classify:

  python -m launch.choose_images --image_dir=new_photos --number=10 \
    --labeled_dir=photos/server --copy_to=photos --overwrite

Features of images are computed once; the same command continues after an
interrupt. With --features_file=mine.npz in place of folders, the table has row
numbers in place of file names, and there is no page.
"""

import dataclasses
import os
import pathlib
import re
import shutil

import numpy as np
from scipy import special
import tensorflow as tf

from tff_semifl import settings
from tff_semifl.algorithms.client_priors import server_labels
from tff_semifl.cli import labeling_inputs
from tff_semifl.cli import parts
from tff_semifl.cli import program
from tff_semifl.data import assisted_labeling
from tff_semifl.files import durable_files
from tff_semifl.results import page

_COLUMNS = ('file', 'label', 'images_alike')


@dataclasses.dataclass(frozen=True, kw_only=True)
class ChooseImages(settings.Settings):
  """The settings of this program."""

  images: labeling_inputs.LabelingInput = labeling_inputs.LabelingInput()
  number: int = settings.setting(
    40, 'Number of images to choose.', settings.AT_LEAST_1
  )
  seed: int = settings.setting(
    0, 'Seed of k-means.', settings.between(0, 2**31 - 1)
  )
  output: parts.OutputFile = parts.OutputFile(
    output_file='results/chosen_images.csv'
  )
  copy_to: str | None = settings.setting(
    None, 'Folder for copies of the chosen images, in its folder to_sort.'
  )


def main(chosen: ChooseImages) -> None:
  """Chooses images, and writes the table, the page and the copies."""
  path, sheet = labeling_inputs.check_outputs(chosen.output)
  given = chosen.images.check('image_dir')
  _check_copies(chosen)
  labeled = chosen.images.read_labeled()
  images = chosen.images.read_unlabeled()
  with settings.blame('features_file', chosen.images.features_file):
    if not images.files:
      raise ValueError('all rows have labels; rows to choose have label -1')
  found = _choose(chosen, images, labeled)
  rows = [
    (images.files[index], '', num_alike)
    for index, num_alike in zip(found.indices, found.num_alike, strict=True)
  ]
  parts.write_table(path, _COLUMNS, rows)
  print(f'images: {len(images.files)}')
  if found.num_considered < len(images.files):
    print(f'considered: {found.num_considered} of these, at random')
  print(f'near-duplicates left out: {found.num_duplicates}')
  print(f'chosen: {len(found.indices)}')
  if len(found.indices) < chosen.number:
    print('  no other images differ from these and from labeled images')
  if given == 'image_dir':
    labeling_inputs.write_page(sheet, _draw(images, found))
  else:
    print('page: none, as a features file has no images')
  if chosen.copy_to is not None:
    print(f'copies: {_copy(chosen, images, found)}')


def _check_copies(chosen: ChooseImages) -> None:
  """Checks the flag --copy_to, before features are computed."""
  if chosen.copy_to is None:
    return
  with settings.blame('copy_to', chosen.copy_to):
    if chosen.images.features_file is not None:
      raise ValueError('needs --image_dir; a features file has no images')
    folder = pathlib.Path(chosen.copy_to) / 'to_sort'
    if os.path.exists(folder) and (
      not os.path.isdir(folder) or any(folder.iterdir())
    ):
      raise ValueError(
        f'{folder} is not empty; sort its images into folders of'
        f' {folder.with_name("server")}, or remove it'
      )


def _choose(
  chosen: ChooseImages,
  images: labeling_inputs.FileFeatures,
  labeled: labeling_inputs.FileFeatures | None,
) -> assisted_labeling.Choice:
  """Chooses images, by a classifier too if labels have at least two classes."""
  if labeled is None:
    return assisted_labeling.choose_images(
      images.features, chosen.number, seed=chosen.seed
    )
  uncertainty = None
  if len(np.unique(labeled.labels)) > 1:
    weights = server_labels.fit(
      tf.constant(labeled.features, tf.float64),
      tf.one_hot(labeled.labels, len(labeled.class_names), dtype=tf.float64),
    ).weights[0]
    logits = images.features @ weights[:-1].numpy() + weights[-1].numpy()
    uncertainty = 1 - special.softmax(logits, axis=1).max(axis=1)
  return assisted_labeling.choose_images(
    images.features,
    chosen.number,
    labeled=labeled.features,
    uncertainty=uncertainty,
    seed=chosen.seed,
  )


def _draw(
  images: labeling_inputs.FileFeatures, found: assisted_labeling.Choice
) -> str:
  shown = ''.join(
    images.show(index, f'{number}. {images.files[index]} ({num_alike} alike)')
    for number, (index, num_alike) in enumerate(
      zip(found.indices, found.num_alike, strict=True), 1
    )
  )
  lead = (
    f'{len(found.indices)} of {len(images.files)} images, the most useful'
    ' first. Each stands for the number of images that are alike.'
  )
  return page.page(
    'Images to label', [page.paragraph(lead), page.box('gallery', shown)]
  )


def _copy(
  chosen: ChooseImages,
  images: labeling_inputs.FileFeatures,
  found: assisted_labeling.Choice,
) -> pathlib.Path:
  folder = pathlib.Path(chosen.copy_to) / 'to_sort'
  with (
    settings.blame('copy_to', chosen.copy_to, OSError),
    durable_files.replacing_folder(folder) as unfinished,
  ):
    for number, index in enumerate(found.indices, 1):
      source = images.files[index]
      inside = source.relative_to(chosen.images.image_dir)
      name = re.sub(r'[^\w.-]+', '_', str(inside))[-100:]
      # The number makes names unique, and keeps the order.
      shutil.copyfile(source, unfinished / f'{number:03}_{name}')
  return folder


if __name__ == '__main__':
  program.run(main, ChooseImages())
