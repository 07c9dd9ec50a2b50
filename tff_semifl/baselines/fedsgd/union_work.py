# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The server's work of steps on clients' images in one place."""

import collections
from typing import Any

import tensorflow as tf

from tff_semifl.baselines.fedsgd import gathered_images
from tff_semifl.baselines.fedsgd import union_training
from tff_semifl.core import round_context
from tff_semifl.core import server_work
from tff_semifl.data import pipelines
from tff_semifl.models import functional
from tff_semifl.training import client_report
from tff_semifl.training import optimizers
from tff_semifl.training import training_loop
from tff_semifl.training import weight_diversity


def build_union_work(
  steps: union_training.UnionSteps,
) -> server_work.ServerWork:
  """Builds the work of a server to which clients hand over their images.

  The last argument of `train` are the images, `ClientImages`; measurements are
  `client`, `server` and `given_labels`, the pseudo-labels of all images. There
  are no updates, so that weight diversity is not measured.
  """
  classifier, optimizer = steps.classifier, steps.optimizer

  def train(
    state: Any,
    weights: functional.ModelWeights,
    context: round_context.RoundContext,
    server_data: tf.data.Dataset,
    gathered: gathered_images.ClientImages,
  ):
    labeled = pipelines.concatenate_chunks(server_data)
    result = union_training.train_epoch(
      steps,
      weights,
      optimizer.set_hparams(
        state, {optimizers.LEARNING_RATE_KEY: context.learning_rate}
      ),
      context,
      union_training.LabeledImages(labeled['image'], labeled['label']),
      gathered,
    )
    metrics = collections.OrderedDict(
      client=_summarize_clients(result, gathered.num_images),
      server=collections.OrderedDict(
        loss=result.server.loss / result.server.num_examples,
        accuracy=result.server.num_correct / result.server.num_examples,
      ),
      given_labels=result.given_labels,
    )
    weights = functional.ModelWeights(result.trainable, weights.non_trainable)
    return result.optimizer_state, weights, metrics

  return server_work.ServerWork(
    initialize=lambda: training_loop.initial_optimizer_state(
      optimizer, classifier.initial_weights.trainable
    ),
    train=train,
  )


def _summarize_clients(
  result: union_training.EpochResult, num_images: tf.Tensor
) -> collections.OrderedDict[str, tf.Tensor]:
  """The metrics of clients, from their numbers of images."""
  clients = result.clients
  return client_report.summarize(
    client_report.ClientSums(
      collections.OrderedDict(
        loss=client_report.Ratio(clients.loss, clients.num_examples),
        accuracy=client_report.Ratio(clients.num_correct, clients.num_examples),
        label_ratio=client_report.Ratio(
          result.num_confident, result.num_labeled
        ),
        num_participating=tf.math.count_nonzero(num_images, dtype=tf.float32),
        num_rejected=tf.constant(0.0),
      ),
      updates=weight_diversity.update_sums((), None),
    )
  )
