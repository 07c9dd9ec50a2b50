# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

r"""Pretrains a backbone on classes of CIFAR-10, and writes a folder of others.

In place of ImageNet weights, for a first look at what pretraining does: a
MobileNet of half the width is trained on six classes, and the other four are a
folder for --task=image_folder, with ten labels each at the server.

  python -m benchmarks.pretrained_backbone --folder=transfer
  python -m launch.demo --task=image_folder --image_dir=transfer/photos \
    --model=mobilenet --width_multiplier=0.5 \
    --weights=transfer/backbone.h5 --freeze_backbone
"""

import pathlib

from absl import app
from absl import flags
import numpy as np
import PIL.Image
import tensorflow as tf

from tff_semifl.augment import weak
from tff_semifl.data import sources
from tff_semifl.data import tfds_images

_FOLDER = flags.DEFINE_string(
  'folder', 'transfer', 'Folder to write, which must not exist.'
)
_DATA_DIR = flags.DEFINE_string(
  'data_dir', None, 'TFDS folder that has CIFAR-10, or to download it to.'
)
_EPOCHS = flags.DEFINE_integer('epochs', 16, 'Epochs of pretraining.')
_WIDTH_MULTIPLIER = 0.5
_BATCH_SIZE = 128
_LEARNING_RATE = 2e-3
# In the order of their numbers.
_CLASS_NAMES = (
  *('airplane', 'automobile', 'bird', 'cat', 'deer'),
  *('dog', 'frog', 'horse', 'ship', 'truck'),
)
_OTHERS = ('automobile', 'cat', 'horse', 'truck')
_NUM_LABELED = 10
_NUM_TEST = 250
_NUM_CLIENTS, _CLIENT_SIZE = 6, 80


def pretrain(data: sources.LabeledImages) -> tf.keras.Model:
  """Trains a backbone on classes that are not among the others.

  Args:
    data: All training images of CIFAR-10.

  Returns:
    The backbone without its last layer, for pixels in -1..1.
  """
  labels = [
    label for label, name in enumerate(_CLASS_NAMES) if name not in _OTHERS
  ]
  data = data.select(np.flatnonzero(np.isin(data.labels, labels)))
  tf.keras.utils.set_random_seed(0)
  backbone = tf.keras.applications.MobileNet(
    alpha=_WIDTH_MULTIPLIER,
    include_top=False,
    pooling='avg',
    weights=None,
    input_shape=data.images.shape[1:],
  )
  num_steps = _EPOCHS.value * (len(data.labels) // _BATCH_SIZE)
  model = tf.keras.Sequential([backbone, tf.keras.layers.Dense(len(labels))])
  model.compile(
    tf.keras.optimizers.Adam(
      tf.keras.optimizers.schedules.CosineDecay(_LEARNING_RATE, num_steps)
    ),
    tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    ['accuracy'],
  )

  def view(images, targets, seed):
    views = weak.flip_and_crop(images, seed, flip=True, padding=4)
    return tf.cast(views, tf.float32) / 127.5 - 1, targets

  batches = (
    tf.data.Dataset.from_tensor_slices(
      (data.images, np.searchsorted(labels, data.labels))
    )
    .shuffle(len(data.labels), seed=0)
    .batch(_BATCH_SIZE, drop_remainder=True)
  )
  batches = tf.data.Dataset.zip((batches, tf.data.Dataset.random(seed=0)))
  model.fit(
    batches.map(
      lambda batch, key: view(*batch, tf.stack([tf.cast(key, tf.int32), 0]))
    ),
    epochs=_EPOCHS.value,
    verbose=2,
  )
  return backbone


def write_photos(
  root: pathlib.Path, train: sources.LabeledImages, test: sources.LabeledImages
) -> None:
  """Writes the images of the other classes, the same at each call.

  Args:
    root: The folder, which must not exist.
    train: All training images of CIFAR-10.
    test: All test images.
  """
  generator = np.random.default_rng(0)
  rest = []
  for name in _OTHERS:
    label = _CLASS_NAMES.index(name)
    indices = generator.permutation(np.flatnonzero(train.labels == label))
    rest.extend(indices[_NUM_LABELED:])
    for index in indices[:_NUM_LABELED]:
      _write(root / 'server' / name / f'{index}.png', train.images[index])
    for index in np.flatnonzero(test.labels == label)[:_NUM_TEST]:
      _write(root / 'test' / name / f'{index}.png', test.images[index])
  shares = generator.permutation(rest)[: _NUM_CLIENTS * _CLIENT_SIZE]
  for client, share in enumerate(np.split(shares, _NUM_CLIENTS)):
    for index in share:
      file = root / 'clients' / f'site_{client}' / f'{index}.png'
      _write(file, train.images[index])


def _write(file: pathlib.Path, image: np.ndarray) -> None:
  file.parent.mkdir(parents=True, exist_ok=True)
  PIL.Image.fromarray(image).save(file)


def main(arguments: list[str]) -> None:
  """Writes photos and weights."""
  del arguments  # There are flags only.
  folder = pathlib.Path(_FOLDER.value)
  folder.mkdir(parents=True)
  train, test = tfds_images.load('cifar10', ['train', 'test'], _DATA_DIR.value)
  write_photos(folder / 'photos', train, test)
  pretrain(train).save_weights(folder / 'backbone.h5')


if __name__ == '__main__':
  app.run(main)
