# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

r"""Computes the features of a task's images with a pretrained network.

  python -m launch.compute_features --task=cifar10 --backbone_size=128 \
    --output_file=cifar10.npz
  python -m launch.train client_priors --task=features \
    --features_file=cifar10.npz

launch.train with --model=frozen:NAME does not need a file; a file is for
features that you inspect, change or use elsewhere. The file has the arrays that
the flag --features_file reads. Features are also cached, so that the same
command continues after an interrupt.
"""

import dataclasses

import numpy as np

from tff_semifl import settings
from tff_semifl.cli import parts
from tff_semifl.cli import program
from tff_semifl.data import sources
from tff_semifl.experiment import frozen_models
from tff_semifl.experiment import image_task
from tff_semifl.experiment import task_registry


@dataclasses.dataclass(frozen=True, kw_only=True)
class ComputeFeatures(settings.Settings):
  """The settings of this program."""

  chosen: task_registry.ChosenTask = task_registry.ChosenTask()
  model: frozen_models.Frozen = settings.choice(
    frozen_models.MODELS,
    'frozen:efficientnet_lite0',
    'The pretrained network, as for launch.train.',
    load=frozen_models.load,
  )
  output: parts.OutputFile = parts.OutputFile()


def main(chosen: ComputeFeatures) -> None:
  """Computes the features, and writes the file."""
  path = chosen.output.check()
  with settings.blame('output_file', chosen.output.output_file):
    if path is None or path.suffix != '.npz':
      raise ValueError('name a .npz file to write')
  part = chosen.chosen.task
  if settings.as_dict(part).get('image_size', '') is None:
    part = settings.change(part, chosen.model.usual)
  task = part.create()
  data = chosen.model.compute_all(image_task.load(part, task))
  arrays = _to_arrays(data, np.array(task.class_names))
  with parts.replacing(path) as file:
    np.savez(file, **arrays)
  for name, array in arrays.items():
    print(f'{name}: {"x".join(map(str, array.shape))}')
  print(f'file: {path}')


def _to_arrays(
  data: sources.TaskData, class_names: np.ndarray
) -> dict[str, np.ndarray]:
  arrays = {
    'features': data.train.images,
    'labels': class_names[data.train.labels],
    'class_names': class_names,
    'test_features': data.test.images,
    'test_labels': class_names[data.test.labels],
  }
  if data.unlabeled is not None:
    arrays['client_features'] = data.unlabeled
  if data.shares is not None:
    clients = data.client_names or range(len(data.shares))
    ids = np.empty(len(data.unlabeled), np.array(clients).dtype)
    for name, share in zip(clients, data.shares, strict=True):
      ids[share] = name
    arrays['client_ids'] = ids
  return arrays


if __name__ == '__main__':
  program.run(main, ComputeFeatures())
