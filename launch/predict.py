# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

r"""Predicts the classes of images with an exported model.

  python -m launch.predict --exported_model=results/mine/export \
    --images=photos,another.jpg --output_file=predictions.csv

Images may have any size and number; only a few are in memory at a time. A model
of feature vectors takes .npy files, or .npz files with an array `features`. The
table, by default results/predictions.csv, has a row for each image or vector:
path, and class_name and probability of the most probable class. Some models add
foreign: the fraction of clients' training images whose predictions have a lower
entropy than this image's. --overwrite replaces an existing file.

--adapt_shares estimates the class shares of the images' site, predicts with
them, and writes predictions.class_shares.csv.
"""

from collections.abc import Iterator, Sequence
import dataclasses
import pathlib
from typing import Any

import numpy as np
import tqdm

from tff_semifl import settings
from tff_semifl.cli import parts
from tff_semifl.cli import program
from tff_semifl.cli import site_shares
from tff_semifl.data import data_errors
from tff_semifl.data import feature_files
from tff_semifl.data import image_listing
from tff_semifl.data import image_reading
from tff_semifl.data import sources
from tff_semifl.export import exported_model
from tff_semifl.label_shift import input_shift


@dataclasses.dataclass(frozen=True, kw_only=True)
class Predict(settings.Settings):
  """The settings of this program."""

  model: parts.ExportedModel = parts.ExportedModel()
  output: parts.OutputFile = parts.OutputFile(
    output_file='results/predictions.csv'
  )
  shares: site_shares.SiteShares = site_shares.SiteShares()
  all_probabilities: bool = settings.setting(
    False,
    'Whether to write the probability of each class, in columns named'
    ' probability/<class>.',
  )


def main(predict: Predict) -> None:
  """Writes the predictions."""
  path = predict.output.check()
  shares_path = path.with_suffix('.class_shares.csv')
  if predict.shares.adapt_shares:
    dataclasses.replace(predict.output, output_file=str(shares_path)).check()
  with predict.model.blame_images(ValueError):
    if not predict.model.images:
      raise ValueError('name files or folders of images')
    files = image_listing.list_files(predict.model.images)
  model = predict.model.load()
  predict.shares.check(model)
  names, keys = model.class_names, []
  found = [np.zeros([0, len(names)], np.float32)]
  inputs = site_shares.SiteInputs(model)
  with predict.model.blame_images(data_errors.DataError):
    for batch_keys, images in _read_batches(model, files):
      keys.extend(batch_keys)
      found.append(model.predict(images))
      if predict.shares.adapt_shares:
        inputs.add(images)
  probabilities, shares = np.concatenate(found), None
  print(f'images: {len(keys)}')
  columns = ['path', 'class_name', 'probability']
  more = [()] * len(keys)
  if model.prior is not None and model.prior.entropies:
    foreign = input_shift.measure_foreignness(
      probabilities, model.prior.entropies
    )
    columns.append('foreign')
    more = [(f'{each:.4f}',) for each in foreign]
    print(f'foreign above 0.95: {np.sum(foreign > 0.95)}; in training 5%')
  if predict.shares.adapts:
    probabilities, shares = predict.shares.adapt(model, probabilities, inputs)
  if predict.all_probabilities:
    columns.extend(f'probability/{name}' for name in names)
  parts.write_table(
    path,
    columns,
    (
      [
        *(key, names[each.argmax()], each.max()),
        *own,
        *(each if predict.all_probabilities else ()),
      ]
      for key, each, own in zip(keys, probabilities, more, strict=True)
    ),
  )
  if predict.shares.adapt_shares:
    rows = zip(names, shares.tolist(), strict=True)
    parts.write_table(shares_path, site_shares.COLUMNS, rows)


def _read_batches(
  model: exported_model.ExportedModel, files: Sequence[pathlib.Path]
) -> Iterator[tuple[list[Any], np.ndarray]]:
  """Yields the names and the array of each batch of images or vectors."""
  read = (
    feature_files.read_batches
    if model.kind is sources.FEATURES
    else image_reading.read_batches
  )
  shown = tqdm.tqdm(files, 'predicting', disable=None)
  return read(shown, model.image_shape[-1])


if __name__ == '__main__':
  program.run(main, Predict())
