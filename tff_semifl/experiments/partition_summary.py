# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""A summary of a partition among clients, and its figure."""

from typing import NamedTuple

from matplotlib import figure
import numpy as np

from tff_semifl.data import label_skew
from tff_semifl.experiments import federated_data
from tff_semifl.experiments import image_task
from tff_semifl.plots import partition_figure


class PartitionSummary(NamedTuple):
  """The number of images of each class that each client has.

  Attributes:
    title: Task, partition and number of clients.
    counts: int64 [num_clients, num_classes]; images of unknown class have a
      column of their own.
    class_names: A name for each column of `counts`.
    skew: R of `label_skew`, or why it is unknown.
  """

  title: str
  counts: np.ndarray
  class_names: tuple[str, ...]
  skew: str

  def create_figure(self) -> figure.Figure:
    """Creates the figure."""
    return partition_figure.create_figure(
      self.counts, self.class_names, f'{self.title}: R {self.skew}'
    )


def summarize(
  task: image_task.ImageTask,
  data: federated_data.FederatedData,
  title: str,
) -> PartitionSummary:
  """Summarizes a partition."""
  labels = data.unlabeled.true_labels
  class_names = tuple(task.class_names)
  num_unknown = int(np.count_nonzero(labels < 0))
  if num_unknown == len(labels):
    labels, class_names = np.zeros_like(labels), ('unknown',)
  elif num_unknown:
    labels = np.where(labels < 0, task.num_classes, labels)
    class_names = (*class_names, 'unknown')
  counts = label_skew.count_classes(labels, data.shares, len(class_names))
  if num_unknown:
    skew = f'unknown, as the class of {num_unknown} images is'
  else:
    # A client without images has no mix of classes.
    mixes = counts[counts.any(axis=1)]
    skew = f'{label_skew.measure_label_skew(mixes):.3f}'
  return PartitionSummary(
    title=f'{title}, {len(data.shares)} clients',
    counts=counts,
    class_names=class_names,
    skew=skew,
  )
