# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The parts of `benchmarks.gpu_stretch`, and their sizes."""

from collections.abc import Callable, Sequence
import dataclasses
import pathlib
import sys
from typing import NamedTuple

from tff_semifl import settings


@dataclasses.dataclass(frozen=True, kw_only=True)
class Sizes(settings.Settings):
  """Data and sizes of all parts."""

  data_dir: str | None = settings.setting(
    None, 'Folder of TensorFlow Datasets, with CIFAR-10.'
  )
  network_rounds: int = settings.setting(
    1000, 'Steps of each run of the part network.', settings.AT_LEAST_1
  )
  tiny: bool = settings.setting(
    False, 'Whether to try all parts on digits and small models, on a CPU.'
  )

  def check(self) -> None:
    """Checks the settings before any part begins."""
    with settings.blame('data_dir', self.data_dir):
      if self.data_dir is not None and not pathlib.Path(self.data_dir).is_dir():
        raise ValueError('is no folder; name the folder of TensorFlow Datasets')


class Part(NamedTuple):
  """A part of the benchmarks, run in a process.

  Attributes:
    name: Name of the part, and of its folders.
    minutes: The default time limit.
    command: (sizes, folder of results, folder of runs) -> the part's command.
  """

  name: str
  minutes: float
  command: Callable[[Sizes, pathlib.Path, pathlib.Path], Sequence[str]]


def _measure(
  flags: Sequence[str],
) -> Callable[[Sizes, pathlib.Path, pathlib.Path], Sequence[str]]:
  """Creates the command function for `benchmarks.gpu` with these flags."""

  def command(sizes, results, runs):
    del runs  # There are none.
    tiny = ()
    if sizes.tiny:
      tiny = (
        '--model_depth=10',
        '--model_width=1',
        '--num_clients=2',
        '--images_per_client=20',
        '--num_labeled=20',
        '--side_by_side=2',
      )
    return _python(
      'benchmarks.gpu',
      *flags,
      '--num_epochs=1',
      # The limit of the part applies instead.
      '--minutes=1000',
      f'--output_file={results / "measurements.json"}',
      *tiny,
    )

  return command


def _train(
  name: str, flags: Sequence[str]
) -> Callable[[Sizes, pathlib.Path, pathlib.Path], Sequence[str]]:
  """Creates the command function for SemiFL on CIFAR-10, 4000 labels, IID."""

  def command(sizes, results, runs):
    del results  # They are copied from the run.
    chosen = ['--preset=semifl/cifar10_4000_iid']
    if sizes.data_dir is not None:
      chosen.append(f'--data_dir={sizes.data_dir}')
    if sizes.tiny:
      chosen = ['--preset=semifl/digits_50_iid', '--total_rounds=4']
      chosen += ['--model=linear', '--client_epochs=1', '--server_epochs=1']
    return _python(
      'launch.train',
      'semifl',
      *chosen,
      # The momenta of 100 clients would take 590 MB.
      '--keep_client_momentum=false',
      '--tensorboard=false',
      f'--output_dir={runs}',
      f'--experiment_name={name}',
      *flags,
    )

  return command


def _train_networks(
  sizes: Sizes, results: pathlib.Path, runs: pathlib.Path
) -> Sequence[str]:
  """The command for `benchmarks.priors_to_network` on CIFAR-10, 40 labels."""
  chosen = [
    '--task=cifar10',
    '--partition=classes,dirichlet0.1,iid',
    f'--total_rounds={sizes.network_rounds}',
  ]
  if sizes.data_dir is not None:
    chosen.append(f'--data_dir={sizes.data_dir}')
  if sizes.tiny:
    chosen = [
      '--task=digits',
      '--model=linear',
      '--num_clients=10',
      '--clients_per_round=2',
      '--client_batch_size=10',
      '--total_rounds=4',
      '--partition=classes',
      '--backbone_size=32',
    ]
  return _python(
    'benchmarks.priors_to_network',
    '--seeds=0',
    '--model=wide_resnet',
    '--label_features=frozen:efficientnet_lite0',
    '--classifiers=network,layer,all_labels',
    f'--table_file={results / "table.csv"}',
    f'--runs_dir={runs}',
    *chosen,
  )


def _python(module: str, *flags: str) -> list[str]:
  return [sys.executable, '-m', module, *flags]


PARTS = (
  Part(
    'side_by_side',
    8,
    _measure(['--parts=rounds,side_by_side', '--side_by_side=2,4,8,10']),
  ),
  Part('profile', 3, _measure(['--parts=profile'])),
  Part('cell', 9, _train('semifl_seed0', [])),
  Part(
    'labels_alone',
    4,
    _train('semifl_without_clients_seed0', ['--clients_per_round=0']),
  ),
  Part('network', 20, _train_networks),
)
