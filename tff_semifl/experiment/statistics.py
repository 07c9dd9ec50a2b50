# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""When static batch statistics are computed, and from which images.

If clients pseudo-label with the received model, each round needs statistics. A
round computes the statistics if `batch_norm_statistics` is `server`, and a pass
after the round otherwise. In all other systems, only evaluations need
statistics, and a pass before each evaluation computes the statistics.
"""

import dataclasses
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

from tff_semifl import settings
from tff_semifl.algorithms import system as system_lib
from tff_semifl.core import batch_norm_statistics as statistics_lib
from tff_semifl.core import statistics_passes
from tff_semifl.data import pipelines
from tff_semifl.experiment import federated_data
from tff_semifl.models import functional


class StatisticsPass(NamedTuple):
  """A pass between rounds that computes batch normalization statistics.

  `computation` is `(<W@SERVER, data> -> W@SERVER)`. If not `for_clients`, only
  evaluations use the statistics, and the pass runs only before evaluations.
  """

  computation: tff.Computation
  data: Any
  for_clients: bool = True


@dataclasses.dataclass(frozen=True, kw_only=True)
class Statistics(settings.Settings):
  """The images from which static batch statistics are computed."""

  batch_norm_statistics: str | None = settings.setting(
    None,
    'Images for the statistics of static batch normalization: server, the'
    " default if the server has images; federated, all clients' images, which"
    ' stay there (appendix B of SemiFL); pooled, all images in one place, the'
    " default if the server has none; server_batches, the server's images as"
    " in the authors' code, a plain mean over batches of one class: of 250"
    ' images or, for systems in one place, of --server_batch_size.',
    settings.one_of('federated', 'pooled', 'server', 'server_batches'),
  )

  def fill_in(
    self, system: system_lib.System, *, are_there: bool
  ) -> 'Statistics':
    """Fills in the default; `are_there` is whether the model has statistics."""
    chosen = self.batch_norm_statistics
    has_pool = system.labels is system_lib.Labels.AT_SERVER_WITH_POOL
    of_server = chosen in ('server', 'server_batches')
    reason = None
    if chosen is not None and not are_there:
      reason = (
        'without static batch normalization there are no statistics; leave it'
        ' out'
      )
    elif of_server and not system.server_has_labels:
      reason = 'the server has no images; use federated or pooled'
    elif chosen in ('federated', 'pooled') and not system.has_clients:
      reason = 'there are no clients; use server or server_batches'
    elif chosen == 'server_batches' and has_pool:
      reason = (
        'it is only for labeled images, but the server also has unlabeled'
        ' images; use server'
      )
    if reason is not None:
      raise settings.SettingError('batch_norm_statistics', chosen, reason)
    if not are_there:
      return self
    default = 'server' if system.server_has_labels else 'pooled'
    return dataclasses.replace(self, batch_norm_statistics=chosen or default)

  def are_computed_by_rounds(self, system: system_lib.System) -> bool:
    """Whether each round computes the statistics of batch normalization."""
    return self.batch_norm_statistics == 'server' and _labels_at_once(system)

  def create_pass(
    self,
    system: system_lib.System,
    classifier: functional.ImageClassifier,
    data: federated_data.FederatedData,
    clients: pipelines.ClientPopulation,
  ) -> StatisticsPass | None:
    """The pass between rounds that computes statistics; None if not needed."""
    kind = self.batch_norm_statistics
    if kind is None or self.are_computed_by_rounds(system):
      return None
    build = statistics_passes.build_pooled_pass
    if kind == 'federated':
      computation = statistics_passes.build_federated_pass(classifier)
      images = clients.all_datasets()
    elif kind == 'pooled':
      computation = build(classifier)
      # Also images that no client has.
      images = _class_by_class(data).concatenate(
        tf.data.Dataset.from_tensors(np.asarray(data.unlabeled.images))
      )
    elif kind == 'server_batches':
      computation = build(
        classifier,
        batch_size=statistics_lib.BATCH_SIZE
        if system.has_clients
        else settings.as_dict(system)['server_batch_size'],
      )
      # Selected labels are already ordered by class.
      images = (
        tf.data.Dataset.from_tensors(data.labeled.images)
        if system.labels is system_lib.Labels.ALL_AT_SERVER
        else _class_by_class(data)
      )
    else:
      computation = statistics_passes.build_server_pass(classifier)
      images = pipelines.labeled_dataset(data.at_server(system.labels))
    return StatisticsPass(
      computation, images, for_clients=_labels_at_once(system)
    )


def _labels_at_once(system: system_lib.System) -> bool:
  method = system.client_method
  return (
    method is not None
    and method.relabel == 'round'
    and not method.labels_are_true
  )


def _class_by_class(data: federated_data.FederatedData) -> tf.data.Dataset:
  """The labeled images ordered by class, as in the authors' code."""
  order = np.argsort(data.labeled.labels, kind='stable')
  return tf.data.Dataset.from_tensors(data.labeled.images[order])
