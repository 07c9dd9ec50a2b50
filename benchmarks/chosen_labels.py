# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Accuracy with random and with chosen labels, without and with client priors.

  python -m benchmarks.chosen_labels --data=cifar10.npz

`--data` is as for `benchmarks.label_choice`. 40 of 5,000 images get labels:
random images, or those that `launch.choose_images` chooses. The other images
are at 20 clients, which are alike or have two classes each. Each line has two
test accuracies in percent: with the labels alone, and with client priors.
"""

from absl import app
from absl import flags
import numpy as np

from benchmarks import client_priors_inputs
from benchmarks import client_priors_runs
import tff_semifl as sfl
from tff_semifl.data import assisted_labeling

_DATA = flags.DEFINE_string('data', 'digits', 'digits, or a file .npz.')
_PARTITIONS = flags.DEFINE_list(
  'partitions', ['iid', 'classes2'], 'Partitions.'
)
_KEEP = flags.DEFINE_string('keep', 'chosen', 'As for launch.train.')
_POOL = 5000
_LABELS = 40
_CLIENTS = 20


def measure(
  data: tuple[np.ndarray, ...], partition: str, seed: int, *, is_chosen: bool
) -> tuple[float, float]:
  """Measures the two test accuracies with random or chosen labeled images."""
  x, labels, test_x, test_labels = data
  rng = np.random.default_rng(seed)
  rows = rng.permutation(len(x))[:_POOL]
  labeled = rng.choice(len(rows), _LABELS, replace=False)
  if is_chosen:
    found = assisted_labeling.choose_images(x[rows], _LABELS, seed=seed)
    labeled = found.indices
  others = np.delete(rows, labeled)
  made = client_priors_inputs.Input(
    x[rows[labeled]],
    labels[rows[labeled]],
    x[others],
    client_priors_inputs.partition(labels[others], partition, _CLIENTS, rng),
    labels[others],
    test_x,
    test_labels,
  )
  found = client_priors_runs.run(made, standardizes=True, keep=_KEEP.value)
  return tuple(
    100 * float(np.mean(logits.argmax(axis=1) == test_labels))
    for logits in (found.alone, found.exported)
  )


def main(argv: list[str]) -> None:
  """Prints a line for each run, and means over seeds."""
  del argv
  data = client_priors_inputs.read(_DATA.value)
  with sfl.simulation_context():
    for partition in _PARTITIONS.value:
      for is_chosen in (False, True):
        kind = f'{partition}, {"chosen" if is_chosen else "random"}'
        rows = []
        for seed in map(int, flags.FLAGS.seeds):
          rows.append(measure(data, partition, seed, is_chosen=is_chosen))
          print(kind, seed, np.round(rows[-1], 1), flush=True)
        print(kind, 'mean', np.round(np.mean(rows, axis=0), 1), flush=True)


if __name__ == '__main__':
  app.run(main)
