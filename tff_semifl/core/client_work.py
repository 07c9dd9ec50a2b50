# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Client work: local training, and the results that a client returns."""

import collections
from collections.abc import Callable, Mapping
import dataclasses
from typing import Any, NamedTuple

import tensorflow as tf
import tensorflow_federated as tff

from tff_semifl.core import compiled_steps
from tff_semifl.core import optimizers
from tff_semifl.core import pseudo_labels
from tff_semifl.core import training_loop
from tff_semifl.data import pipelines
from tff_semifl.models import functional
from tff_semifl.privacy import aggregators

# In a loop that XLA compiles, a buffer collects the labels.
GivenLabels = pseudo_labels.GivenLabels | compiled_steps.LabelBuffer


class Ratio(NamedTuple):
  """A measurement that is a ratio of two sums over clients, float32 scalars."""

  numerator: tf.Tensor
  denominator: tf.Tensor


class LocalTraining(NamedTuple):
  """The outcome of a client's local training.

  Attributes:
    training: The result of the training loop; `trainable` is () for no update.
    weight: The weight of the update in the mean, float32; 0 for no update.
    num_labeled: The number of pseudo-labels; 0 if all labels are true labels.
    num_confident: The number of pseudo-labels that were used for training.
    measurements: Additional measurements by name, to be summed over clients.
    report: Values for the guides by name, to be summed over clients, or ().
    memory: The method's new memory at this client; () without a memory.
    given_labels: The pseudo-labels; None if all labels are true labels.
  """

  training: training_loop.TrainingResult
  weight: tf.Tensor
  num_labeled: tf.Tensor | float = 0.0
  num_confident: tf.Tensor | float = 0.0
  measurements: Mapping[str, Ratio | tf.Tensor] = collections.OrderedDict()
  report: Any = ()
  memory: Any = ()
  given_labels: GivenLabels | None = None

  def without_true_labels(self) -> 'LocalTraining':
    """Counts pseudo-labels only, and weights the client by training examples.

    As in FedAvg (McMahan et al., 2017), more examples give more weight. Few
    confident images then do not outweigh many true labels.
    """
    given = self.given_labels.keep_if(tf.constant(True))
    return self._replace(
      weight=self.weight * self.training.sums.num_examples,
      num_labeled=tf.size(given.label),
      num_confident=tf.math.count_nonzero(given.share),
    )


def has_images(num_images: tf.Tensor) -> tf.Tensor:
  """The weight of a client: 1 with images, 0 without, a float32 scalar."""
  return tf.cast(num_images > 0, tf.float32)


def labeled_in_steps(
  training: training_loop.TrainingResult,
  num_images: tf.Tensor,
  given_labels: GivenLabels,
) -> LocalTraining:
  """The `LocalTraining` of a client that labels during training.

  A client with images has weight 1, even if no pseudo-label was confident, as
  in the code of SemiFL's authors. A client without images has weight 0.
  """
  return LocalTraining(
    training,
    has_images(num_images),
    num_labeled=training.sums.num_visited,
    num_confident=training.sums.num_examples,
    given_labels=given_labels,
  )


# (weights, `RoundContext`, {'client_id', 'image'}, optimizer state, and the
# memory of the method if there is one) -> result.
LocalTrainingFn = Callable[..., LocalTraining]


class Memory(NamedTuple):
  """A client's memory between rounds; fields that are not kept are ()."""

  optimizer_state: Any
  of_method: Any = ()


class Kept(NamedTuple):
  """Which fields of `Memory` clients keep.

  `initialize` is model -> the method's initial memory; None without a memory.
  """

  optimizer_state: bool = False
  initialize: Callable[[functional.ImageClassifier], Any] | None = None


class ClientResult(NamedTuple):
  """TFF's `ClientResult` with additional fields; fields without a value are ().

  `update` is the received weights minus the trained weights, `memory` the
  client's new memory, `report` the values for the guides.
  """

  update: Any
  update_weight: Any
  memory: Any = ()
  given_labels: Any = ()
  report: Any = ()


class ClientSums(NamedTuple):
  """Values of one client, to be summed over clients for the round's metrics.

  `update` is the update of the last layer's kernel, or a scalar 0 if the
  diversity of updates is not measured. `squared_length` is |update|^2.
  """

  measurements: Mapping[str, Ratio | tf.Tensor]
  update: tf.Tensor | float = 0.0
  squared_length: tf.Tensor | float = 0.0


@dataclasses.dataclass(frozen=True, kw_only=True)
class ClientWork:
  """The work of each client in a round, in plain TensorFlow.

  Attributes:
    update: (<model weights, `RoundContext`>, chunks of the client's data, and
      the client's memory if clients have any) -> `ClientResult`, `ClientSums`.
    initialize_memory: ( -> a client's initial memory); None without memories.
  """

  update: Callable[..., tuple[ClientResult, ClientSums]]
  data_type: tff.SequenceType
  initialize_memory: Callable[[], Any] | None = None


def build_client_work(
  classifier: functional.ImageClassifier,
  train_fn: LocalTrainingFn,
  *,
  data_type: tff.SequenceType | None = None,
  optimizer: optimizers.Optimizer,
  kept: Kept | None = None,
  max_update_norm_ratio: float,
  measure_weight_diversity: bool = True,
  return_given_labels: bool = False,
) -> ClientWork:
  """Builds client work in which each client runs `train_fn`.

  The update is the received weights minus the trained weights. `train_fn`
  returns the weight of the update, 0 for no update. A client is rejected if the
  weight is negative or the update too long. Update, weight, loss, report,
  measurements and the method's memory must have finite norms in float32. A
  rejected client has a zero update of weight 0 and keeps its memory. Sums leave
  out its report and measurements.

  Args:
    data_type: By default `pipelines.client_type`.
    optimizer: The optimizer of `train_fn`; rounds set its learning rate.
    kept: The fields of `Memory` that clients keep; by default none. The code of
      SemiFL's authors keeps the optimizer state.
    max_update_norm_ratio: The largest norm of an update, divided by max(1, norm
      of the received weights); infinity for no limit.
    measure_weight_diversity: Whether to measure how much updates differ. The
      aggregator does not protect the sums for this metric.
    return_given_labels: Whether results have `GivenLabels`.
  """
  kernel_index, kept = None, kept or Kept()
  if measure_weight_diversity:
    kernel_index = find_classifier_kernel(classifier)

  def initialize_optimizer() -> Any:
    return training_loop.initial_optimizer_state(
      optimizer, classifier.initial_weights.trainable
    )

  def pack(memory: Memory) -> Any:
    if not kept.initialize:
      return memory.optimizer_state if kept.optimizer_state else ()
    return memory if kept.optimizer_state else memory.of_method

  def unpack(packed: Any) -> Memory:
    if not kept.optimizer_state:
      return Memory(initialize_optimizer(), packed)
    return Memory(*packed) if kept.initialize else Memory(packed)

  def initialize_memory() -> Any:
    of_method = kept.initialize(classifier) if kept.initialize else ()
    return pack(Memory(initialize_optimizer(), of_method))

  def update_client(received: Any, dataset: tf.data.Dataset, packed: Any):
    weights, context = received
    memory = unpack(packed)
    local = train_fn(
      weights,
      context,
      pipelines.concatenate_chunks(dataset),
      optimizers.with_rate(
        optimizer, memory.optimizer_state, context.learning_rate
      ),
      *([memory.of_method] if kept.initialize else ()),
    )
    result, sums = report(
      weights,
      memory,
      local,
      max_update_norm_ratio=max_update_norm_ratio,
      kernel_index=kernel_index,
      return_given_labels=return_given_labels,
    )
    return result._replace(memory=pack(result.memory)), sums

  def update_client_afresh(received: Any, dataset: tf.data.Dataset):
    return update_client(received, dataset, ())

  return ClientWork(
    update=update_client if any(kept) else update_client_afresh,
    data_type=data_type or pipelines.client_type(classifier.image_shape),
    initialize_memory=initialize_memory if any(kept) else None,
  )


def report(
  weights: functional.ModelWeights,
  memory: Memory,
  local: LocalTraining,
  *,
  max_update_norm_ratio: float,
  kernel_index: int | None = None,
  return_given_labels: bool = False,
) -> tuple[ClientResult, ClientSums]:
  """A client's `ClientResult`, with a `Memory`, and its `ClientSums`.

  `memory` is the memory before the round. Without a `kernel_index`, the
  diversity of updates is not measured. A rejected client has a zero update of
  weight 0, the old memory, no given labels, and only zeros as sums, except for
  `num_rejected`. See `build_client_work`.
  """
  training = local.training
  update = training.trainable and tf.nest.map_structure(
    tf.subtract, tuple(weights.trainable), tuple(training.trainable)
  )
  length = tf.linalg.global_norm(update)
  bound = max_update_norm_ratio * tf.maximum(
    tf.linalg.global_norm(weights.trainable), 1.0
  )
  # `<=`, because an infinite bound allows all finite lengths.
  is_sound = tf.math.is_finite(length) & (length <= bound)
  is_sound &= local.weight >= 0.0
  results = local.weight, local.report, local.measurements, local.memory
  is_sound &= aggregators.has_finite_norm((training.sums.loss, results))
  counts = is_sound & (local.weight > 0.0)
  update = aggregators.zero_unless(counts, update)
  measurements = collections.OrderedDict(
    loss=Ratio(training.sums.loss, training.sums.num_examples),
    accuracy=Ratio(training.sums.num_correct, training.sums.num_examples),
    label_ratio=Ratio(local.num_confident, local.num_labeled),
    **local.measurements,
    num_participating=tf.cast(counts, tf.float32),
  )

  def if_sound(value: tf.Tensor) -> tf.Tensor:
    return tf.where(is_sound, tf.cast(value, tf.float32), 0.0)

  kernel = tf.zeros([]) if kernel_index is None else update[kernel_index]
  sums = ClientSums(
    collections.OrderedDict(
      **tf.nest.map_structure(if_sound, measurements),
      num_rejected=1.0 - if_sound(1.0),
    ),
    kernel,
    tf.reduce_sum(tf.square(kernel)),
  )
  given_labels = ()
  if return_given_labels:
    assert local.given_labels is not None
    given_labels = local.given_labels.keep_if(is_sound)
  result = ClientResult(
    update,
    update_weight=tf.where(counts, local.weight, 0.0),
    # The state is unchanged if the client did not train.
    memory=tf.nest.map_structure(
      lambda new, old: tf.where(is_sound, new, old),
      Memory(training.optimizer_state, local.memory),
      memory,
    ),
    given_labels=given_labels,
    report=aggregators.zero_unless(is_sound, local.report),
  )
  return result, sums


def summarize(sums: ClientSums) -> Mapping[str, tf.Tensor]:
  """The metrics of a round, float32 scalars by name; 0 / 0 is NaN.

  Two metrics show how much updates differ (equation 7 of Zhang et al., 2020).
  d_i is client i's update of the last layer's kernel, n the number of clients
  with an update:

      weight_diversity          = sum |d_i|^2 / |sum d_i|^2
      relative_weight_diversity = n * weight_diversity

  Equal updates give the least values, 1 / n and 1. Orthogonal updates give 1
  and n.
  """
  metrics = collections.OrderedDict(
    (name, value[0] / value[1] if isinstance(value, Ratio) else value)
    for name, value in sums.measurements.items()
  )
  diversity = sums.squared_length / tf.reduce_sum(tf.square(sums.update))
  return collections.OrderedDict(
    **metrics,
    weight_diversity=diversity,
    relative_weight_diversity=metrics['num_participating'] * diversity,
  )


def find_classifier_kernel(
  classifier: functional.ImageClassifier,
) -> int | None:
  """The index of the last layer's kernel in the trainable weights, or None."""
  trainable = classifier.initial_weights.trainable
  for index in reversed(range(len(trainable))):
    shape = trainable[index].shape
    if len(shape) == 2 and shape[1] == classifier.num_classes:
      return index
  return None
