# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

r"""Finds labels that look wrong, given other labels and unlabeled images.

  python -m launch.check_labels --labeled_dir=photos/server \
    --image_dir=photos/clients

This writes a table, results/checked_labels.csv, and a page with small images,
results/checked_labels.html. The label with the least probability, given all
other labels, comes first. Beside each image are the most similar labeled
images. Unlabeled images in --image_dir are optional, and improve the check.
With --features_file=mine.npz in place of folders, the table has row numbers in
place of file names, and there is no page.
"""

import dataclasses

import numpy as np
from sklearn import neighbors

from tff_semifl import settings
from tff_semifl.cli import labeling_inputs
from tff_semifl.cli import parts
from tff_semifl.cli import program
from tff_semifl.data import assisted_labeling
from tff_semifl.results import page

_COLUMNS = (
  *('file', 'label', 'probability', 'expected', 'expected_probability'),
  *('same_label', 'nearest'),
)
_NEAREST = 3
# The numbers of labels on the page, and in the printed list.
_ON_PAGE = 100
_PRINTED = 10


@dataclasses.dataclass(frozen=True, kw_only=True)
class CheckLabels(settings.Settings):
  """The settings of this program."""

  images: labeling_inputs.LabelingInput = labeling_inputs.LabelingInput()
  output: parts.OutputFile = parts.OutputFile(
    output_file='results/checked_labels.csv'
  )


@dataclasses.dataclass(frozen=True)
class _Doubt:
  """A labeled image, and the label that the other labels suggest."""

  index: int
  label: str
  probability: float
  expected: str
  expected_probability: float
  same_label: int  # The number of other images with the label.
  nearest: np.ndarray  # Indices of the nearest labeled images.

  def __str__(self) -> str:
    if not self.same_label:
      return f'{self.label}: no other image has this label'
    return (
      f'{self.label} ({self.probability:.1%}); expected: {self.expected}'
      f' ({self.expected_probability:.1%})'
    )


def main(chosen: CheckLabels) -> None:
  """Writes the table of doubtful labels, and the page of their images."""
  path, sheet = labeling_inputs.check_outputs(chosen.output)
  given = chosen.images.check('labeled_dir')
  labeled = chosen.images.read_labeled()
  with settings.blame(given, getattr(chosen.images, given)):
    if labeled is None or len(np.unique(labeled.labels)) < 2:
      raise ValueError('needs labels of two classes at least')
  others = None
  if given == 'features_file' or chosen.images.image_dir is not None:
    others = chosen.images.read_unlabeled().features
  doubts = _find_doubts(labeled, others)
  rows = (
    [
      labeled.files[each.index],
      each.label,
      f'{each.probability:.4g}',
      each.expected,
      f'{each.expected_probability:.4g}',
      each.same_label,
      ' | '.join(str(labeled.files[other]) for other in each.nearest),
    ]
    for each in doubts
  )
  parts.write_table(path, _COLUMNS, rows)
  print(f'labels: {len(doubts)}')
  for each in doubts[:_PRINTED]:
    print(f'  {labeled.files[each.index]}: {each}')
  if given == 'labeled_dir':
    labeling_inputs.write_page(sheet, _draw(labeled, doubts))
  else:
    print('page: none, as a features file has no images')


def _find_doubts(
  labeled: labeling_inputs.FileFeatures, others: np.ndarray | None
) -> list[_Doubt]:
  """All labeled images, the least probable label first."""
  labels, names = labeled.labels, labeled.class_names
  probabilities = assisted_labeling.check_labels(
    labeled.features, labels, len(names), others
  )
  own = np.take_along_axis(probabilities, labels[:, np.newaxis], 1)[:, 0]
  expected = probabilities.argmax(axis=1)
  counts = np.bincount(labels, minlength=len(names))
  points = assisted_labeling.embed(labeled.features)
  search = neighbors.NearestNeighbors(
    n_neighbors=min(_NEAREST, len(labels) - 1)
  )
  nearest = search.fit(points).kneighbors(return_distance=False)
  return [
    _Doubt(
      index,
      names[labels[index]],
      own[index],
      names[expected[index]],
      probabilities[index, expected[index]],
      int(counts[labels[index]]) - 1,
      nearest[index],
    )
    for index in own.argsort(kind='stable')
  ]


def _draw(labeled: labeling_inputs.FileFeatures, doubts: list[_Doubt]) -> str:
  """The page of doubtful images, each with the most similar labeled images."""
  parts_of_page = [
    page.paragraph(
      'The most doubtful label is first. Beside each image are the most similar'
      f' labeled images. {min(len(doubts), _ON_PAGE)} of'
      f' {len(doubts)} labels are shown.'
    )
  ]
  for number, each in enumerate(doubts[:_ON_PAGE], 1):
    name = labeled.files[each.index]
    shown = [labeled.show(each.index, f'{number}. {name}')]
    shown.extend(
      labeled.show(other, f'near: {labeled.class_names[labeled.labels[other]]}')
      for other in each.nearest
    )
    parts_of_page.append(page.paragraph(f'{number}. {each}'))
    parts_of_page.append(page.box('gallery', ''.join(shown)))
  return page.page('Labels to check', parts_of_page)


if __name__ == '__main__':
  program.run(main, CheckLabels())
