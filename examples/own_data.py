# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Trains SemiFL on your own data, here scikit-learn's digits as NumPy arrays.

The server has 50 labeled images. Four clients have different numbers of
unlabeled images.
"""

import numpy as np
from sklearn import datasets

import tff_semifl as sfl


def main(total_rounds: int = 30, output_dir: str = 'results') -> float:
  """Trains, and returns the accuracy on test images."""
  pixels, labels = datasets.load_digits(return_X_y=True)
  # Scikit-learn's pixels are in 0..16.
  images = pixels.reshape(-1, 8, 8) / 16
  server, test, rest = np.split(np.arange(len(images)), [50, 410])
  task = sfl.own_data(
    train=(images[server], labels[server]),
    test=(images[test], labels[test]),
    clients={
      name: images[share]
      for name, share in zip(
        ('ann', 'bob', 'cleo', 'dan'),
        np.split(rest, [500, 800, 1100]),
        strict=True,
      )
    },
    # The mirror image of a digit is not a digit.
    flip=False,
  )
  experiment = sfl.create_experiment(
    'semifl',
    task,
    clients_per_round=2,
    total_rounds=total_rounds,
    output_dir=output_dir,
    experiment_name='own_data',
  )
  with sfl.simulation_context():
    final = sfl.run(experiment, sfl.open_folder(experiment))
  print(f'accuracy after round {final.round_num}: {final.accuracy:.1%}')
  return final.accuracy


if __name__ == '__main__':
  main()
