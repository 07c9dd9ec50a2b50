# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Local training of a client with a client method.

The method labels all images: once with the received model (SemiFL, section
3.3), or with the model in training at the beginning of each epoch or batch by
batch, as in FixMatch. The images that it selects are trained on.
"""

from collections.abc import Mapping
import dataclasses
from typing import Any

import tensorflow as tf

from tff_semifl.core import client_method
from tff_semifl.core import client_work
from tff_semifl.core import guidance as guidance_lib
from tff_semifl.core import hook_arguments
from tff_semifl.core import hook_results
from tff_semifl.core import labeling
from tff_semifl.core import local_steps
from tff_semifl.core import round_context
from tff_semifl.data import example_kinds
from tff_semifl.models import functional
from tff_semifl.training import client_report
from tff_semifl.training import given_labels as given_labels_lib
from tff_semifl.training import rows as rows_lib


def build_local_training(
  method: client_method.ClientMethod, training: local_steps.Training
) -> client_work.LocalTrainingFn:
  """Builds the local training that `client_work.build_client_work` takes.

  Raises:
    ValueError: If the form's loop cannot apply the strong augmentation.
  """
  nothing = example_kinds.zeros(training.model.image_shape)
  training.form.check_views(training.strong_augmentation, nothing)

  def train(
    weights: functional.ModelWeights,
    context: round_context.RoundContext,
    data: Mapping[str, tf.Tensor],
    optimizer_state: Any,
    given_labels: given_labels_lib.KeptLabels = given_labels_lib.NOT_KEPT,
  ) -> client_report.LocalTraining:
    labeler = labeling.Labeler(
      model=training.model,
      weak_augmentation=training.weak_augmentation,
      method=method,
      received=weights,
      node=round_context.Node(context, data['client_id']),
    )
    images = labeling.Images(
      data['image'],
      tf.range(tf.shape(data['image'])[0]),
      (data['label'],) if 'label' in data else (),
    )
    return _train(
      local_steps.Steps(training, labeler),
      images,
      optimizer_state,
      given_labels,
    )

  return train


def _train(
  steps: local_steps.Steps,
  images: labeling.Images,
  optimizer_state: Any,
  given_labels: given_labels_lib.KeptLabels,
) -> client_report.LocalTraining:
  """Labels the images, trains, and reports."""
  labeler = steps.labeler
  method = labeler.method
  number = tf.shape(images.image)[0]
  all_images = rows_lib.AllRows(images)
  context = labeler.context(all_images, labeler.received)
  state = method.init_state(context)

  def run(images, given_labels):
    return steps.training.form.run(
      lambda rows: steps.take(
        rows, context, optimizer_state, state, given_labels
      ),
      images,
    )

  if method.labels_are_true:
    given_labels = given_labels_lib.NOT_KEPT
  if method.relabel == 'round':
    labels, images, given = labeler.label(context, all_images, state)
    context = dataclasses.replace(
      context,
      labels=labels,
      num_trained_on=tf.math.count_nonzero(images.is_selected, dtype=tf.int32),
    )
    result = run(images, given_labels_lib.NOT_KEPT)._replace(
      given_labels=given_labels_lib.extend(given_labels, given)
    )
  else:
    result = run(images, given_labels)
  report = _report(method, context, result.state)
  if method.labels_are_true:
    return client_report.trained_on_true_labels(result, number)._replace(
      report=report
    )
  if context.labels is None:
    return client_report.labeled_in_steps(result, number)._replace(
      report=report
    )
  return client_report.LocalTraining(
    result,
    num_labeled=number,
    num_confident=context.num_trained_on,
    weight=_weigh(method, context),
    measurements=client_report.measure_confidences(context.labels.confidences),
    report=report,
  )


def _weigh(
  method: client_method.ClientMethod, context: hook_arguments.ClientContext
) -> tf.Tensor:
  return hook_results.scalar(method.weigh, method.weigh(context))


def _report(
  method: client_method.ClientMethod,
  context: hook_arguments.ClientContext,
  state: Any,
) -> Any:
  """The reports of the method and of its parts, without empty ones."""
  own = method.report(context, state)
  reports = {
    name: part.report(context.of_part(name))
    for name, part in method.parts.items()
  }
  reports = {k: each for k, each in reports.items() if tf.nest.flatten(each)}
  if not reports:
    return own
  return {guidance_lib.OWN: own, **reports} if tf.nest.flatten(own) else reports
