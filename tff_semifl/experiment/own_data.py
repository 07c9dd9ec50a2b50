# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tasks of a Python program's own images or features."""

from collections.abc import Iterator, Mapping, Sequence
import dataclasses
import numbers
from typing import Any

import numpy as np
import tensorflow as tf

from tff_semifl import settings
from tff_semifl.data import own_images
from tff_semifl.data import own_labels
from tff_semifl.data import sources
from tff_semifl.experiment import image_task
from tff_semifl.experiment import loaded_task


def own_data(
  train: Any,
  test: Any,
  *,
  clients: Any = None,
  unlabeled: Any = None,
  unlabeled_labels: Any = None,
  num_labeled: int | None = None,
  class_names: Sequence[str] | None = None,
  flip: bool = True,
) -> image_task.ImageTask:
  """Creates a task of images, or of feature vectors, that are in memory.

  Images are arrays [images, height, width, channels], sequences of images, or
  other values that NumPy converts to such arrays: integers in 0..255, or floats
  in 0..255 or 0..1. Gray images may lack the last axis. Feature vectors are
  arrays of floats [number, features]. Labels are integers or strings [images]
  or [images, 1], or one-hot [images, classes].

  Clients get their images in one of these ways:

  *   `clients`: the images of each client. The server has all of `train`. For
      systems with labels at some clients, such as `semifl_labeled_clients`,
      clients with labels are tuples (images, labels).
  *   `num_labeled`: the server has that many images of `train`, equally many of
      each class. The other images lose their labels. The settings `num_clients`
      and `partition` divide these and any `unlabeled` images among clients.
  *   Neither argument, for systems whose clients have labels, such as
      `supervised_fedavg`: `train` is partitioned among clients. Other systems
      then need the setting `num_labeled`.

  Args:
    train: Labeled images: (images, labels), a mapping with 'image' and 'label',
      or a `tf.data.Dataset` of pairs or such mappings, batched or not. None if
      only clients have labels: `test` then gives classes and pixel statistics.
    test: Labeled images for evaluation, in the same forms.
    clients: Images by client, as arrays or datasets, in a sequence or a
      mapping, or a `tff.simulation.datasets.ClientData`. Labels in datasets are
      ignored. A client that trains on labels is a tuple (images, labels), where
      a label of -1 or '' is unknown.
    unlabeled: Images, or a `tf.data.Dataset` of images.
    unlabeled_labels: Labels of the images in `clients`, in the same order, for
      metrics only, not for training. None for a client without labels; a label
      of -1 or '' is unknown.
    num_labeled: A multiple of the number of classes.
    class_names: A name for each class, in the order of the labels. By default
      the labels that occur in `train`, or else in `test`; strings are sorted.
      Unless clients have labels, `train` must have images of each class.
    flip: Whether mirrored images have the same class; False for handwriting.

  Raises:
    ValueError: If an argument cannot be used. The message begins with the
      argument's name, and says what was found and what is expected.
  """
  if num_labeled is not None and not (
    isinstance(num_labeled, numbers.Integral) and num_labeled >= 1
  ):
    raise ValueError(
      f'num_labeled: found {num_labeled!r}; give an integer from 1'
    )
  if clients is None and unlabeled_labels is not None:
    raise ValueError(
      'unlabeled_labels: found some, but no clients; give the images, too'
    )
  if clients is not None and (unlabeled is not None or num_labeled is not None):
    raise ValueError(
      'clients: found unlabeled or num_labeled, too; give clients alone, and'
      ' the server has all of train'
    )
  clients, training_labels = _take_labels(clients)
  labeled = 'train'
  if train is None:
    if not training_labels:
      raise ValueError(
        'train: found None; give (images, labels), here or for some clients as'
        ' tuples'
      )
    train, labeled = test, 'test'
  train_images, train_labels = _read_labeled(labeled, train)
  test_images, test_labels = _read_labeled('test', test)
  class_names, train_classes = own_labels.index_server(
    labeled, train_labels, class_names, needs_all=not training_labels
  )
  if labeled == 'test':
    train_images, train_classes = train_images[:0], train_classes[:0]
  pool = shares = client_names = None
  labeled_clients = []
  if clients is not None:
    pool, shares, client_names = concatenate('clients', clients)
    if isinstance(unlabeled_labels, Mapping):
      if [*map(str, unlabeled_labels)] != client_names:
        raise ValueError(
          'unlabeled_labels: found other names, or another order, than in'
          ' clients'
        )
    if training_labels or unlabeled_labels is not None:
      of_clients = [
        own_labels.index_by_client(field, labels, shares, class_names)
        for field, labels in (
          ('clients', training_labels or None),
          ('unlabeled_labels', unlabeled_labels),
        )
      ]
      unlabeled_labels, labeled_clients = own_labels.join(
        of_clients, shares, client_names
      )
  elif unlabeled is not None:
    if isinstance(unlabeled, tf.data.Dataset):
      unlabeled, _ = own_images.read_dataset(
        'unlabeled', unlabeled, labeled=False
      )
    pool = own_images.convert_examples('unlabeled', unlabeled)
  shape = train_images.shape[1:]
  kind = sources.kind_of(shape)
  for field, images in (
    ('test', test_images),
    ('unlabeled' if clients is None else 'clients', pool),
  ):
    if images is not None and images.shape[1:] != shape:
      found = images.shape[1:]
      raise ValueError(
        f'{field}: found {sources.kind_of(found).name} of shape {found};'
        f' those of train are {shape}; give all of one shape'
      )
  data = sources.TaskData(
    train=sources.LabeledImages(train_images, train_classes),
    test=sources.LabeledImages(
      test_images, own_labels.index('test', test_labels, class_names)
    ),
    unlabeled=pool,
    shares=shares,
    unlabeled_labels=unlabeled_labels,
    client_names=client_names,
    labeled_clients=labeled_clients,
  )
  if kind is sources.FEATURES:
    own_images.check_server_features(labeled, data.server_images)
    task = loaded_task.create_feature_task(data, class_names)
  else:
    task = loaded_task.create_task(data, class_names, flip=flip)
  if shares is not None:
    return task
  return dataclasses.replace(task, num_labeled=num_labeled)


def _take_labels(clients: Any) -> tuple[Any, dict[Any, Any]]:
  """Splits clients into images, and labels by client; {} without labels."""
  if isinstance(clients, Mapping):
    by_name = dict(clients)
  elif isinstance(clients, tuple | list):
    by_name = dict(enumerate(clients))
  else:
    return clients, {}
  pairs = {
    name: each
    for name, each in by_name.items()
    if isinstance(each, tuple) and len(each) == 2
  }
  if not pairs:
    return clients, {}
  images = {name: pair[0] for name, pair in pairs.items()}
  return by_name | images, {
    name: pairs[name][1] if name in pairs else None for name in by_name
  }


def concatenate(
  field: str, clients: Any
) -> tuple[np.ndarray, list[np.ndarray], list[str]]:
  """Concatenates all clients' images, in the forms that `own_data` takes.

  A client may have no images. Returns the images, each client's int64 indices,
  and the clients' names.
  """
  fields, arrays, sizes, client_names = [], [], [], []
  for name, images in _list_clients(field, clients):
    own = f'{field}[{name!r}]'
    own_images.check_form(own, images)
    if isinstance(images, tf.data.Dataset):
      images, _ = own_images.read_dataset(own, images, labeled=False)
    array = own_images.stack(own, images)
    sizes.append(len(array))
    client_names.append(str(name))
    if not len(array):
      continue
    if array.ndim == 2:
      array = own_images.convert_features(own, array)
    elif array.ndim < 2:
      raise ValueError(
        f'{own}: found an array of shape {array.shape}, which has no images;'
        ' give the images of each client, without labels'
      )
    if arrays and array.shape[1:] != arrays[0].shape[1:]:
      raise ValueError(
        f'{own}: found shape {array.shape[1:]}; those of others are'
        f' {arrays[0].shape[1:]}; give all of one shape'
      )
    fields.append(own)
    arrays.append(array)
  if not arrays:
    raise ValueError(f'{field}: found no images; give one at least')
  if arrays[0].ndim == 2:
    images = np.concatenate(arrays)
  else:
    # All arrays together: the brightest image of all clients shows the scale.
    own_images.check_scales(fields, arrays)
    images = own_images.convert(field, np.concatenate(arrays))
  shares = np.split(np.arange(len(images)), np.cumsum(sizes)[:-1])
  return images, shares, client_names


def _list_clients(field: str, clients: Any) -> Iterator[tuple[Any, Any]]:
  """Yields the name and the images of each client."""
  if own_images.is_client_data(clients):
    for name in clients.client_ids:
      yield name, clients.create_tf_dataset_for_client(name)
    return
  own_images.check_form(field, clients)
  if isinstance(clients, Mapping):
    yield from clients.items()
  elif isinstance(clients, Sequence):
    yield from enumerate(clients)
  else:
    raise ValueError(
      f'{field}: found a {type(clients).__name__}; give the images of each'
      ' client, as a list or by name'
    )


def _read_labeled(field: str, data: Any) -> tuple[np.ndarray, np.ndarray]:
  """Reads images or features, and their int64 or str labels."""
  own_images.check_form(field, data)
  if isinstance(data, tf.data.Dataset):
    images, labels = own_images.read_dataset(field, data, labeled=True)
  elif isinstance(data, Mapping) and {'image', 'label'} <= data.keys():
    images, labels = data['image'], data['label']
  elif isinstance(data, tuple | list) and len(data) == 2:
    images, labels = data
  else:
    raise ValueError(
      f'{field}: found a {type(data).__name__}; give (images, labels) or a'
      ' tf.data.Dataset of such pairs'
    )
  images = own_images.convert_examples(field, images)
  return images, own_labels.flatten(field, labels, len(images))


@dataclasses.dataclass(frozen=True, kw_only=True)
class OwnTask(image_task.Task):
  """A task of a Python program's own data, which no flag can name."""

  prepared: image_task.ImageTask | None = None

  @property
  def reference(self) -> str:
    """The name in records, by which the task cannot be loaded."""
    return image_task.OWN_DATA

  @property
  def gives_shares(self) -> bool:  # pyrefly: ignore[bad-override]
    return self.prepared is not None and self.prepared.load().shares is not None

  @property
  def usual(self) -> Mapping[str, Any]:  # pyrefly: ignore[bad-override]
    if self.prepared is None:
      return {}
    kind = sources.kind_of(self.prepared.image_shape)
    return loaded_task.USUAL_OF_FEATURES if kind is sources.FEATURES else {}

  def create(self) -> image_task.ImageTask:
    if self.prepared is None:
      raise settings.SettingError(
        'task', self.reference, 'its images are only in the program that has it'
      )
    return self.prepared


def create_part(task: image_task.ImageTask) -> OwnTask:
  """The settings for a task that a Python program has made.

  A description with a digest of the images is added if there is none, so that
  no run resumes on other images.
  """
  if task.data_description is None:
    described = loaded_task.describe(task.load(), task.class_names)
    task = dataclasses.replace(task, data_description=described)
  return OwnTask(prepared=task)
