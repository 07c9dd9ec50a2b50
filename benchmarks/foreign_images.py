# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

r"""Detection of foreign images, which belong to none of the model's classes.

  python -m benchmarks.foreign_images --data=digits --foreign=fashion_mnist.npz
  python -m benchmarks.foreign_images --data=cifar10.npz --foreign_class=6

`--data` is as for `benchmarks.label_choice`. Foreign images are the `features`
of a file .npz, or a class that is left out of the data. Client priors are
trained with four labels of each class at the server. A fraction `--share` of
the images of 20 clients is foreign. Three scores tell test images from other
foreign images: entropy, as in `launch.predict`; the greatest probability; and
the cosine to the nearest labeled image, of centered features. Each line has the
area under the ROC curve (AUC) of each score, then the percentages of foreign
and of test images for which `foreign`, as in `launch.predict`, is above 0.8.
"""

from collections.abc import Iterator
import dataclasses
import math

from absl import app
from absl import flags
import numpy as np
import PIL.Image
from scipy import special
from sklearn import datasets
from sklearn import metrics
from sklearn import preprocessing
import tensorflow as tf

from benchmarks import client_priors_inputs
from benchmarks import client_priors_runs
import tff_semifl as sfl
from tff_semifl.label_shift import input_shift

_DATA = flags.DEFINE_string('data', 'digits', 'digits, or a file .npz.')
_FOREIGN = flags.DEFINE_string('foreign', None, 'digits, or a file .npz.')
_FOREIGN_CLASS = flags.DEFINE_integer('foreign_class', None, 'Left out class.')
_EXAMPLES = flags.DEFINE_integer('examples', 4000, "Of clients' own classes.")
_SHARE = flags.DEFINE_float('share', 0.2, "Of clients' images.")
_LABELS = 4
_CLIENTS = 20
_MOST = 2000
_NAMES = ('foreign', 'greatest probability', 'nearest label')


def _read_foreign(size: int) -> np.ndarray:
  """Foreign images with `size` pixels, in the range of the data's pixels."""
  if _FOREIGN.value == 'digits':
    found = 255 / 16 * datasets.load_digits().data
  else:
    with np.load(_FOREIGN.value) as file:
      found = file['features'][:_MOST]
  if found.shape[1] == size:
    return found
  old, new = math.isqrt(found.shape[1]), math.isqrt(size)
  images = [
    PIL.Image.fromarray(each.reshape(old, old).astype(np.uint8)).resize(
      (new, new), PIL.Image.Resampling.BOX
    )
    for each in found
  ]
  found = np.stack([np.ravel(each) for each in images]).astype(np.float32)
  return found * 16 / 255 if _DATA.value == 'digits' else found


def _create(seed: int) -> tuple[client_priors_inputs.Input, np.ndarray]:
  """The input, and foreign images that are not at clients."""
  x, labels, test_x, test_labels = client_priors_inputs.read(_DATA.value)
  rng = np.random.default_rng(seed)
  test_x, test_labels = test_x[:_MOST], test_labels[:_MOST]
  left_out = _FOREIGN_CLASS.value
  if left_out is None:
    foreign = _read_foreign(x.shape[1])
  else:
    is_foreign, of_test = labels == left_out, test_labels == left_out
    foreign = np.concatenate([x[is_foreign][:_MOST], test_x[of_test]])
    x, labels = x[~is_foreign], labels[~is_foreign]
    test_x, test_labels = test_x[~of_test], test_labels[~of_test]
    labels, test_labels = (
      each - (each > left_out) for each in (labels, test_labels)
    )
  rows = rng.permutation(len(x))
  server = np.concatenate(
    [rows[labels[rows] == each][:_LABELS] for each in np.unique(labels)]
  )
  rows = rows[~np.isin(rows, server)][: _EXAMPLES.value]
  ids = client_priors_inputs.partition(
    labels[rows], 'dirichlet0.3', _CLIENTS, rng
  )
  foreign = foreign[rng.permutation(len(foreign))]
  at_clients = round(len(rows) * _SHARE.value / (1 - _SHARE.value))
  at_clients = min(at_clients, len(foreign) // 2)
  return client_priors_inputs.Input(
    x[server],
    labels[server],
    np.concatenate([x[rows], foreign[:at_clients]]),
    np.append(ids, rng.integers(0, _CLIENTS, at_clients)),
    np.append(labels[rows], np.full(at_clients, -1)),
    test_x,
    test_labels,
  ), foreign[at_clients:]


def measure(
  made: client_priors_inputs.Input, foreign: np.ndarray
) -> Iterator[float]:
  """Yields the AUC of each score, and the percentages above 0.8."""
  images = np.concatenate([made.test_features, foreign])
  found = client_priors_runs.run(
    dataclasses.replace(
      made, test_features=np.concatenate([images, made.client_features])
    ),
    standardizes=True,
  )
  logits, of_clients = np.split(found.exported, [len(images)])
  quantiles = input_shift.find_entropy_quantiles(
    input_shift.count_entropies(tf.constant(of_clients)).numpy()
  )
  probabilities = special.softmax(logits, axis=1)
  share = input_shift.measure_foreignness(probabilities, quantiles)
  center = made.features.mean(axis=0)
  unit, near = (
    preprocessing.normalize(each - center) for each in (images, made.features)
  )
  is_foreign = np.arange(len(images)) >= len(made.test_labels)
  for score in (
    share,
    -probabilities.max(axis=1),
    -(unit @ near.T).max(axis=1),
  ):
    yield metrics.roc_auc_score(is_foreign, score)
  for each in (is_foreign, ~is_foreign):
    yield 100 * np.mean(share[each] > 0.8)


def main(argv: list[str]) -> None:
  """Prints a line for each seed, and means."""
  del argv
  rows = []
  with sfl.simulation_context():
    for seed in map(int, flags.FLAGS.seeds):
      rows.append([*measure(*_create(seed))])
      print(seed, np.round(rows[-1], 3), flush=True)
  means = np.mean(rows, axis=0)
  for name, value in zip(_NAMES, means, strict=False):
    print(f'{name}: AUC {value:.2f}')
  print(
    f'above 0.8: {means[3]:.0f}% of foreign, {means[4]:.0f}% of test images'
  )


if __name__ == '__main__':
  app.run(main)
