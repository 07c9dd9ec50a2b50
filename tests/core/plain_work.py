# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The work of clients and server in plain TensorFlow, without rounds."""

import collections
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import tensorflow as tf
import tensorflow_federated as tff

from tests import linear_reference
from tests import simulation_test_case
from tff_semifl import settings
from tff_semifl.core import client_update
from tff_semifl.core import client_work
from tff_semifl.core import federated_process
from tff_semifl.core import method as method_lib
from tff_semifl.core import optimizers

SEED = 7


class Traced:
  """A function of a dataset and other arguments, traced at its first call."""

  def __init__(self, function: Callable[..., Any], data_type: tff.SequenceType):
    self._function = function
    self._data = tf.data.DatasetSpec(
      collections.OrderedDict(
        (name, tf.TensorSpec(each.shape, each.dtype))
        for name, each in tff.structure.to_elements(data_type.element)
      )
    )
    self.traced = None

  def __call__(self, dataset: tf.data.Dataset, *arguments: Any) -> Any:
    """Calls the function, and converts results to arrays."""
    arguments = tf.nest.map_structure(tf.convert_to_tensor, arguments)
    if self.traced is None:
      specs = tf.nest.map_structure(tf.TensorSpec.from_tensor, arguments)
      self.traced = tf.function(
        self._function, input_signature=[self._data, *specs], autograph=False
      )
    with simulation_test_case.without_grappler():
      results = self.traced(dataset, *arguments)
    return tf.nest.map_structure(lambda each: each.numpy(), results)


class Output(NamedTuple):
  """The `ClientResult` of each client, and measurements by name."""

  result: list[Any]
  measurements: dict[str, float]


class Clients:
  """The work of clients that receive the same weights and context."""

  def __init__(self, work: client_work.ClientWork):
    def update(dataset, weights, context, *memory):
      return work.update((weights, context), dataset, *memory)

    self.update = Traced(update, work.data_type)

  def __call__(
    self,
    weights: Any,
    context: federated_process.RoundContext,
    datasets: Sequence[tf.data.Dataset],
    memories: Sequence[Any] | None = None,
  ) -> Output:
    """Runs all clients; `memories` are given if clients have any."""
    results, sums = [], []
    for i, dataset in enumerate(datasets):
      memory = () if memories is None else (memories[i],)
      result, sums_of_one = self.update(dataset, weights, context, *memory)
      results.append(result)
      sums.append(sums_of_one)
    total = tf.nest.map_structure(lambda *each: tf.add_n(each), *sums)
    measured = client_work.summarize(total)
    return Output(results, {k: float(value) for k, value in measured.items()})


def build_linear_clients(
  method: method_lib.Method,
  settings_of_method: dict[str, Any],
  *,
  keep_optimizer_state: bool = False,
  dropout_rate: float = 0.0,
  classifier: Any = None,
  weak: Any = linear_reference.unchanged,
  strong: Any = linear_reference.unchanged,
  data_type: tff.SequenceType | None = None,
) -> Clients:
  """Clients with a linear model, two epochs, and batches of two images."""
  classifier = classifier or linear_reference.create_classifier(
    dropout_rate=dropout_rate
  )
  optimizer = optimizers.build_nesterov_sgd()
  training = client_update.Training(
    model=classifier,
    weak_augmentation=weak,
    strong_augmentation=strong,
    optimizer=optimizer,
    num_epochs=2,
    batch_size=2,
  )
  method = settings.change(method, settings_of_method)
  return Clients(
    client_work.build_client_work(
      classifier,
      client_update.build_local_training(method, training),
      data_type=data_type,
      optimizer=optimizer,
      kept=client_work.Kept(keep_optimizer_state),
      max_update_norm_ratio=10.0,
      return_given_labels=True,
    )
  )
