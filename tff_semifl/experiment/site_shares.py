# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Estimates the prior of clients' class shares after training.

If a system does not estimate the prior in training, one pass over clients does.
The pass uses the runtime of the training run: this machine, a cluster or sites.
Only sums over clients reach the server.
"""

import operator
import pathlib
from typing import NamedTuple

from absl import logging
import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

from tff_semifl.data import pipelines
from tff_semifl.experiment import experiment as experiment_lib
from tff_semifl.experiment import metrics_table
from tff_semifl.experiment import model_results
from tff_semifl.experiment import saved_experiment
from tff_semifl.files import durable_files
from tff_semifl.label_shift import input_shift
from tff_semifl.label_shift import share_prior
from tff_semifl.models import functional
from tff_semifl.randomness import random_seeds

# More clients would hardly change the prior.
MOST_CLIENTS = 200
_BATCH_SIZE = 250


class ClientSums(NamedTuple):
  """The sums over clients that the server receives."""

  evidence: share_prior.Evidence
  inputs: input_shift.InputSums
  entropies: tf.Tensor  # float32 [bins], see `input_shift.count_entropies`.


def build_evidence(classifier: functional.ImageClassifier) -> tff.Computation:
  """Builds the pass over clients; the server sees only sums.

  Its type is (<W@SERVER, float32[classes]@SERVER, {U*}@CLIENTS> ->
  ClientSums@SERVER). Arguments are weights, the class shares that the
  classifier assumes, and clients' data, of type `pipelines.client_type`.
  """
  data_type = pipelines.client_type(classifier.image_shape)
  shares_type = tff.TensorType(np.float32, [classifier.num_classes])

  @tff.tensorflow.computation(classifier.weights_type, shares_type, data_type)
  def measure(
    weights: functional.ModelWeights,
    mean_shares: tf.Tensor,
    dataset: tf.data.Dataset,
  ):
    logits, *moments = _read_client(classifier, weights, dataset)
    return ClientSums(
      share_prior.measure(logits, mean_shares),
      input_shift.to_sums(*moments),
      input_shift.count_entropies(logits),
    )

  @tff.federated_computation(
    tff.FederatedType(classifier.weights_type, tff.SERVER),
    tff.FederatedType(shares_type, tff.SERVER),
    tff.FederatedType(data_type, tff.CLIENTS),
  )
  def find_evidence(weights, mean_shares, dataset):
    measured = tff.federated_map(
      measure,
      (
        tff.federated_broadcast(weights),
        tff.federated_broadcast(mean_shares),
        dataset,
      ),
    )
    return tff.federated_sum(measured)

  return find_evidence


def _read_client(
  classifier: functional.ImageClassifier,
  weights: functional.ModelWeights,
  dataset: tf.data.Dataset,
) -> tuple[tf.Tensor, ...]:
  """A client's logits; count, sum and sum of squares of image summaries."""

  def add(found: tuple[tf.Tensor, ...], batch: tf.Tensor):
    logits, count, total, squares = found
    images = tf.cast(batch, tf.float32)
    numbers = tf.cast(input_shift.summarize(images), tf.float64)
    return (
      tf.concat([logits, classifier.logits(weights, images)], axis=0),
      count + tf.cast(tf.shape(images)[0], tf.float64),
      total + tf.reduce_sum(numbers, axis=0),
      squares + tf.reduce_sum(tf.square(numbers), axis=0),
    )

  size = input_shift.count_numbers(classifier.image_shape)
  nothing = tf.zeros([size], tf.float64)
  return pipelines.fold(
    dataset.map(operator.itemgetter('image')).rebatch(_BATCH_SIZE),
    (
      tf.zeros([0, classifier.num_classes]),
      tf.constant(0.0, tf.float64),
      nothing,
      nothing,
    ),
    add,
    shapes=(
      tf.TensorShape([None, classifier.num_classes]),
      tf.TensorShape([]),
      nothing.shape,
      nothing.shape,
    ),
  )


def _pass_over_clients(
  experiment: experiment_lib.Experiment,
  weights: functional.ModelWeights,
  mean_shares: np.ndarray,
) -> share_prior.SharePrior:
  """Estimates the prior with a model, from at most `MOST_CLIENTS` clients."""
  compute = build_evidence(experiment.classifier)
  datasets = experiment.clients.all_datasets()
  if len(datasets) > MOST_CLIENTS:
    chosen = random_seeds.numpy_generator(
      experiment.settings.seed, random_seeds.Purpose.SHARE_PRIOR_CLIENT
    ).choice(len(datasets), MOST_CLIENTS, replace=False)
    datasets = [datasets[client] for client in sorted(chosen)]
  total = compute(weights, mean_shares, datasets)
  prior = share_prior.choose(
    share_prior.Evidence(*map(np.asarray, total.evidence)),
    mean_shares,
    input_shift.InputSums(*map(np.asarray, total.inputs)),
  )
  entropies = input_shift.find_entropy_quantiles(np.asarray(total.entropies))
  return prior._replace(entropies=entropies)


def find_prior(
  experiment: experiment_lib.Experiment,
  folder: pathlib.Path,
  kept: saved_experiment.TrainedModel,
) -> share_prior.SharePrior | None:
  """The prior from training, else from a pass over clients, else None.

  If training has estimated the prior, the pass only describes clients' images.
  """
  system = experiment.settings.system
  if not (experiment.run.share_prior or system.estimates_class_shares):
    return None
  counts = np.bincount(
    experiment.data.labeled.labels, minlength=experiment.task.num_classes
  )
  mean_shares = share_prior.shares_of_counts(counts.astype(np.float32)).numpy()
  metrics = metrics_table.read_metrics(folder / 'metrics.csv')
  [[row]] = np.nonzero(metrics[metrics_table.KEY] == kept.round_num)
  prior = system.find_share_prior(
    {name: float(column[row]) for name, column in metrics.items()}, mean_shares
  )
  if not experiment.run.share_prior:
    return prior
  passed = _pass_over_clients(experiment, kept.weights, mean_shares)
  if prior is None:
    return passed
  return prior._replace(inputs=passed.inputs, entropies=passed.entropies)


def find_and_write(
  experiment: experiment_lib.Experiment,
  folder: pathlib.Path,
  kept: saved_experiment.TrainedModel,
) -> share_prior.SharePrior | None:
  """Finds the prior, and writes its file.

  If the prior cannot be estimated, there is a warning and no file.
  """
  path = folder / share_prior.NAME
  prior = None
  try:
    prior = find_prior(experiment, folder, kept)
  except ValueError as error:
    logging.warning('%s: no prior of class shares: %s', folder.name, error)
  with durable_files.naming(path):
    if prior is None:
      # The file may come from a run with fewer rounds.
      path.unlink(missing_ok=True)
      return None
  durable_files.write_text(path, prior.to_json())
  return prior


def read(folder: pathlib.Path) -> share_prior.SharePrior | None:
  """Reads the prior of an experiment; None if none was estimated."""
  path = folder / share_prior.NAME
  if not path.exists():
    return None
  with model_results.blaming_file(path):
    return share_prior.from_json(path.read_bytes())


def describe(prior: share_prior.SharePrior) -> str:
  """One line on whether class shares differ between sites."""
  if not prior.clients_differ:
    return (
      f'clients have about the same class shares (evidence {prior.evidence:.3f}'
      ' nats an image): a site keeps the global model'
    )
  weight = ''
  if prior.weight < 1:
    weight = (
      ', with shares to the power'
      f' {prior.weight:g}, because images of a class differ between clients'
    )
  return (
    f'clients differ in class shares (evidence {prior.evidence:.3f} nats an'
    f' image, strength {prior.strength:.2g}): the exported model adapts to a'
    f' site{weight} (launch.predict --adapt_shares; signatures estimate_shares'
    ' and serving_with_shares)'
  )
