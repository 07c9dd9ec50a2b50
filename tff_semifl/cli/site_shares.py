# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Adapts predictions to the class shares (class frequencies) of a site."""

from collections.abc import Iterable, Iterator, Sequence
import csv
import dataclasses

from absl import logging
import numpy as np
import tensorflow as tf

from tff_semifl import settings
from tff_semifl.export import exported_model
from tff_semifl.label_shift import input_shift
from tff_semifl.label_shift import share_prior

COLUMNS = ('class_name', 'share')
_NUM_SHOWN = 5


class SiteInputs:
  """Summarizes a site's images by batch, to detect a shift from training."""

  def __init__(self, model: exported_model.ExportedModel):
    self._model = model
    self._total, self._count = 0.0, 0

  def add(self, images: np.ndarray) -> None:
    """Adds images, in the form that `ExportedModel.predict` takes."""
    if self._model.prior.inputs is not None:
      summaries = self._model.summarize(images)
      self._total += np.sum(summaries, axis=0, dtype=np.float64)
      self._count += len(images)

  def watch(
    self, batches: Iterable[tuple[np.ndarray, np.ndarray]]
  ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yields `batches` unchanged, and adds their images to the summary."""
    for images, labels in batches:
      self.add(images)
      yield images, labels

  def warn_of_shift(self) -> None:
    """Logs a warning if the images differ from the training images."""
    if not self._count:
      return
    shift = input_shift.measure_shift(
      tf.constant(self._total / self._count, tf.float32),
      tf.constant(self._count, tf.float32),
      self._model.prior.inputs,
    )
    if shift > input_shift.GREATEST_SHIFT:
      logging.warning(
        'The images are unlike those of training: their shift is %.1f, and at'
        ' most %g for a site like the clients. Shares of its own do not mend'
        ' this; look at the images, and test with labels.',
        shift,
        input_shift.GREATEST_SHIFT,
      )


@dataclasses.dataclass(frozen=True, kw_only=True)
class SiteShares(settings.Settings):
  """The settings of predictions with a site's class shares."""

  adapt_shares: bool = settings.setting(
    False,
    'Whether to estimate class shares from all --images, which come from one'
    ' site, without labels, and to predict with these shares.',
  )
  class_shares: str | None = settings.setting(
    None,
    'File with the class shares of the site, a CSV table with the columns'
    ' class_name and share, as --adapt_shares writes it; for known shares, or'
    ' shares estimated from other images of the site.',
  )

  @property
  def adapts(self) -> bool:
    """Whether the settings change predictions."""
    return self.adapt_shares or self.class_shares is not None

  def check(self, model: exported_model.ExportedModel) -> None:
    """Checks, before reading images, that the model can adapt to shares."""
    if not self.adapts:
      return
    name, value = 'adapt_shares', True
    if self.class_shares is not None:
      name, value = 'class_shares', self.class_shares
    with settings.blame(name, value):
      if self.adapt_shares and self.class_shares is not None:
        raise ValueError('leave this out, or --adapt_shares')
      if model.prior is None:
        raise ValueError(
          'the model has no prior of class shares: it was trained without'
          ' clients, with differential privacy or without --share_prior'
        )
      if self.class_shares is not None:
        read_shares(self.class_shares, model.class_names)
      elif not model.prior.clients_differ:
        raise ValueError(
          'clients in training had equal class shares (evidence'
          f' {model.prior.evidence:.2f} nats per image); how sites differ is'
          ' unknown; leave this out, or give --class_shares'
        )

  def adapt(
    self,
    model: exported_model.ExportedModel,
    probabilities: np.ndarray,
    inputs: SiteInputs,
  ) -> tuple[np.ndarray, np.ndarray]:
    """Adapts the probabilities of a site's images, float32 [images, classes].

    Returns probabilities, float32 [images, classes], and class shares, float32
    [classes]; prints the largest shares. Raises a `settings.SettingError` if
    the images do not show that the site's shares differ from the training's.
    """
    prior = model.prior
    logits = share_prior.to_logits(tf.constant(probabilities))
    if self.class_shares is not None:
      shares = read_shares(self.class_shares, model.class_names)
    else:
      found = share_prior.estimate_site_shares(logits, prior)
      evidence, count = float(found.evidence), len(logits)
      if not evidence >= share_prior.LEAST_EVIDENCE:
        raise settings.SettingError(
          'adapt_shares',
          True,
          f'the images, {count} of them, have no evidence for class shares of'
          f" their own ({evidence:.2g} nats): there are too few, or the labels'"
          ' shares fit them; predict without this flag',
        )
      shares = found.shares.numpy()
      print(
        f'class shares of {count} images (evidence {evidence:.3g} nats):'
        f' {_list(model.class_names, shares, found.deviations.numpy())}'
      )
      inputs.warn_of_shift()
    adapted = tf.nn.softmax(
      share_prior.adapt_logits(logits, shares, prior)
    ).numpy()
    changed = np.count_nonzero(
      adapted.argmax(axis=1) != probabilities.argmax(axis=1)
    )
    print(f'with these shares {changed} of {len(adapted)} images change class')
    return adapted, shares


def _list(
  names: Sequence[str], shares: np.ndarray, deviations: np.ndarray
) -> str:
  """The largest class shares, as text."""
  order = np.argsort(-shares, kind='stable')
  shown = [
    f'{names[i]} {shares[i]:.1%} (+-{deviations[i]:.1%})'
    for i in order[:_NUM_SHOWN]
  ]
  if len(order) > _NUM_SHOWN:
    shown.append(
      f'{len(order) - _NUM_SHOWN} others {shares[order[_NUM_SHOWN:]].sum():.1%}'
    )
  return ', '.join(shown)


def read_shares(file: str, class_names: Sequence[str]) -> np.ndarray:
  """Reads class shares, float32 [classes], scaled to add up to 1."""
  with settings.blame('class_shares', file, ValueError, OSError):
    found = {}
    with open(file, newline='', encoding='utf-8') as table:
      for row in csv.DictReader(table):
        if not {*COLUMNS} <= row.keys():
          raise ValueError('has not the columns class_name and share')
        if row['class_name'] not in class_names:
          raise ValueError(f'the model has no class {row["class_name"]}')
        if row['class_name'] in found:
          raise ValueError(f'has class {row["class_name"]} twice')
        found[row['class_name']] = float(row['share'])
    missing = [name for name in class_names if name not in found]
    if missing:
      raise ValueError(
        f'lacks class {missing[0]}; give a class without images share 0'
      )
    shares = np.array([found[name] for name in class_names])
    if not np.all(np.isfinite(shares)) or shares.min() < 0 or not shares.any():
      raise ValueError('shares must be 0 or above, and not all 0')
    return (shares / shares.sum()).astype(np.float32)
