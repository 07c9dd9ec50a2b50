# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Inputs on which the assumptions of `client_priors` hold or fail.

`INPUTS` maps names, `kind/name`, to functions that make inputs from
scikit-learn's data. Kinds are long tails, labels drawn at random, shifted
domains, few clients, few examples, scales of features, and absent classes.
"""

from collections.abc import Callable
import dataclasses
import functools
import types

import numpy as np
from scipy import ndimage
from sklearn import datasets


@dataclasses.dataclass(frozen=True)
class Input:
  """Feature vectors of a server, of clients, and for tests.

  Attributes:
    features: float [labels, features], of the server.
    labels: int [labels].
    client_features: float [examples, features].
    client_ids: int [examples], the client that has the example.
    client_labels: int [examples], hidden from all methods.
    test_features: float [tests, features].
    test_labels: int [tests].
  """

  features: np.ndarray
  labels: np.ndarray
  client_features: np.ndarray
  client_ids: np.ndarray
  client_labels: np.ndarray
  test_features: np.ndarray
  test_labels: np.ndarray


def partition(
  labels: np.ndarray, kind: str, num_clients: int, rng: np.random.Generator
) -> np.ndarray:
  """The client of each example.

  Args:
    labels: int [examples].
    kind: iid, classesN for N classes per client, or dirichletA for
      concentration A.
    num_clients: Number of clients, some of which may have no example.
    rng: Random generator.
  """
  order = rng.permutation(len(labels))
  clients = np.zeros(len(labels), int)
  if kind == 'iid':
    clients[order] = np.arange(len(labels)) % num_clients
    return clients
  found = np.unique(labels)
  per_client = int(kind[7:]) if kind.startswith('classes') else 0
  deck = np.resize(rng.permutation(found), num_clients * per_client)
  for label in found:
    members = order[labels[order] == label]
    if per_client:
      holders = np.flatnonzero(deck == label) // per_client
      if not holders.size:
        holders = rng.integers(num_clients, size=1)
      shares = np.full(len(holders), 1 / len(holders))
    else:
      holders = np.arange(num_clients)
      shares = rng.dirichlet(np.full(num_clients, float(kind[9:])))
    clients[members] = rng.choice(holders, size=len(members), p=shares)
  return clients


def thin_out(
  labels: np.ndarray, ratio: float, rng: np.random.Generator
) -> np.ndarray:
  """Indices of a long-tailed subset: class fractions fall from 1 to 1/ratio."""
  found = rng.permutation(np.unique(labels))
  shares = ratio ** -np.linspace(0, 1, len(found))
  return np.concatenate(
    [
      members[: max(round(share * len(members)), 1)]
      for label, share in zip(found, shares, strict=True)
      for members in [rng.permutation(np.flatnonzero(labels == label))]
    ]
  )


def read(data: str) -> tuple[np.ndarray, ...]:
  """Features and labels for training, then features and labels for tests.

  `data` is digits, or a file .npz with `features`, `labels`, `test_features`
  and `test_labels`.
  """
  if data == 'digits':
    x, labels = datasets.load_digits(return_X_y=True)
    rows = np.random.default_rng(0).permutation(len(x))
    train, test = np.split(rows, [1200])
    return x[train], labels[train], x[test], labels[test]
  with np.load(data) as file:
    names = ('features', 'labels', 'test_features', 'test_labels')
    return tuple(file[name] for name in names)


@functools.cache
def _load(name: str) -> tuple[np.ndarray, np.ndarray]:
  found = getattr(datasets, f'load_{name}')()
  return found.data, found.target


def _make(
  rng: np.random.Generator,
  data: str = 'digits',
  *,
  kind: str = 'iid',
  num_clients: int = 10,
  labels_per_class: int = 2,
  draws_labels: bool = False,
  ratio: float = 1.0,
  label_ratio: float = 1.0,
  examples_per_client: Callable[[np.random.Generator], int] | None = None,
  absent: int = 0,
) -> Input:
  x, y = _load(data)
  order = rng.permutation(len(y))
  test, train = np.split(order, [round(0.3 * len(y))])
  is_server = np.zeros(len(train), bool)
  found = rng.permutation(np.unique(y))
  sizes = label_ratio ** -np.linspace(0, 1, len(found))
  # The mean number of labels per class is as requested.
  sizes *= labels_per_class / sizes.mean()
  if draws_labels:
    is_server[: labels_per_class * len(found)] = True
  else:
    for label, size in zip(found, sizes, strict=True):
      members = np.flatnonzero(y[train] == label)
      is_server[members[: max(round(size), 1)]] = True
  server, pool = train[is_server], train[~is_server]
  pool = pool[thin_out(y[pool], ratio, rng)]
  pool = pool[~np.isin(y[pool], rng.permutation(np.unique(y))[:absent])]
  clients = partition(y[pool], kind, num_clients, rng)
  if examples_per_client is not None:
    is_kept = np.zeros(len(pool), bool)
    for client in range(num_clients):
      members = rng.permutation(np.flatnonzero(clients == client))
      is_kept[members[: examples_per_client(rng)]] = True
    pool, clients = pool[is_kept], clients[is_kept]
  return Input(
    x[server], y[server], x[pool], clients, y[pool], x[test], y[test]
  )


def _shift(
  rng: np.random.Generator,
  change: Callable[[np.ndarray, float], np.ndarray],
  **kwargs,
) -> Input:
  """Changes images by client; test images are changed as for random clients."""
  made = _make(rng, **kwargs)

  def apply(images: np.ndarray, domains: np.ndarray) -> np.ndarray:
    amounts = np.linspace(0, 1, domains.max() + 1)
    pairs = zip(images.reshape(-1, 8, 8), domains, strict=True)
    return np.stack(
      [change(image, amounts[domain]).ravel() for image, domain in pairs]
    )

  test_domains = rng.integers(
    made.client_ids.max() + 1, size=len(made.test_labels)
  )
  return dataclasses.replace(
    made,
    client_features=apply(made.client_features, made.client_ids),
    test_features=apply(made.test_features, test_domains),
  )


def _scale(
  rng: np.random.Generator,
  change: Callable[[np.ndarray], np.ndarray],
  **kwargs,
) -> Input:
  made = _make(rng, **kwargs)
  return dataclasses.replace(
    made,
    features=change(made.features),
    client_features=change(made.client_features),
    test_features=change(made.test_features),
  )


def _brighten(image: np.ndarray, amount: float) -> np.ndarray:
  return np.minimum(image + 8 * amount, 16)


def _rotate(image: np.ndarray, amount: float) -> np.ndarray:
  return ndimage.rotate(image, 45 * amount, reshape=False, order=1)


def _blur(image: np.ndarray, amount: float) -> np.ndarray:
  return ndimage.gaussian_filter(image, 1.5 * amount)


def _with_constant_column(x: np.ndarray) -> np.ndarray:
  return np.concatenate([x, np.full([len(x), 1], 7.0)], axis=1)


def _with_huge_column(x: np.ndarray) -> np.ndarray:
  noise = 1e4 * np.sin(1e4 * x.sum(axis=1, keepdims=True))
  return np.concatenate([x, noise], axis=1)


_DEFAULTS = {
  # The clients' classes, or the labels, have a long tail.
  'tail': {
    **{
      f'{ratio}_to_1_{kind}': functools.partial(_make, ratio=ratio, kind=kind)
      for ratio in (3, 10, 50)
      for kind in ('iid', 'classes2')
    },
    **{
      f'labels_{ratio}_to_1_{kind}': functools.partial(
        _make, label_ratio=ratio, kind=kind, labels_per_class=4
      )
      for ratio in (3, 10)
      for kind in ('iid', 'classes2')
    },
    'both_10_to_1_classes2': functools.partial(
      _make, ratio=10, label_ratio=10, kind='classes2', labels_per_class=4
    ),
    'breast_cancer_20_to_1': functools.partial(
      _make, data='breast_cancer', ratio=20, labels_per_class=5, num_clients=6
    ),
  },
  # The labeled examples are drawn at random, from all classes together.
  'random': {
    f'{10 * labels_per_class}_labels_{kind}': functools.partial(
      _make, draws_labels=True, labels_per_class=labels_per_class, kind=kind
    )
    for labels_per_class in (5, 10)
    for kind in ('iid', 'classes2')
  },
  'domain': {
    f'{name}_{kind}_{num_clients}': functools.partial(
      _shift, change=change, kind=kind, num_clients=num_clients
    )
    for name, change in (
      ('brightness', _brighten),
      ('rotation', _rotate),
      ('blur', _blur),
    )
    for kind, num_clients in (('iid', 4), ('dirichlet0.5', 10))
  },
  'few_clients': {
    f'{num_clients}_{kind}': functools.partial(
      _make, num_clients=num_clients, kind=kind
    )
    for num_clients, kind in (
      (1, 'iid'),
      (2, 'iid'),
      (2, 'dirichlet0.3'),
      (3, 'iid'),
      (3, 'dirichlet0.3'),
      (5, 'classes2'),
      (5, 'dirichlet0.3'),
    )
  },
  'few_examples': {
    f'{name}_{kind}': functools.partial(
      _make, num_clients=20, kind=kind, examples_per_client=draw
    )
    for name, draw in (
      ('1', lambda rng: 1),
      ('3', lambda rng: 3),
      ('1_to_6', lambda rng: int(rng.integers(1, 7))),
    )
    for kind in ('iid', 'classes2')
  },
  'scale': {
    'wine_raw': functools.partial(
      _make, data='wine', labels_per_class=4, kind='classes2', num_clients=5
    ),
    'breast_cancer_raw': functools.partial(
      _make, data='breast_cancer', labels_per_class=5, kind='dirichlet0.5'
    ),
    'digits_plus_100000': functools.partial(
      _scale, change=lambda x: x + 1e5, kind='classes2'
    ),
    'digits_thousandth': functools.partial(
      _scale, change=lambda x: x / 1000, kind='classes2'
    ),
    'digits_huge_column': functools.partial(
      _scale, change=_with_huge_column, kind='classes2'
    ),
    'digits_constant_column': functools.partial(
      _scale, change=_with_constant_column, kind='classes2'
    ),
  },
  'absent': {
    f'{absent}_{kind}': functools.partial(_make, absent=absent, kind=kind)
    for absent, kind in (
      (1, 'iid'),
      (1, 'classes2'),
      (3, 'classes2'),
      (5, 'dirichlet0.5'),
    )
  },
}
INPUTS = types.MappingProxyType(
  {
    f'{kind}/{name}': make
    for kind, members in _DEFAULTS.items()
    for name, make in members.items()
  }
)


def create(name: str, seed: int) -> Input:
  """Creates an input of `INPUTS` by name."""
  return INPUTS[name](np.random.default_rng(seed))
