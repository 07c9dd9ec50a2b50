# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""An averaged teacher: a moving average of the server's models labels images.

References:
  Tarvainen, Valpola. Mean teachers are better role models: Weight-averaged
  consistency targets improve semi-supervised deep learning results. NeurIPS
  2017. They average over steps; here it is over rounds.
"""

import dataclasses

import tensorflow as tf

from tff_semifl import settings
from tff_semifl.batch_norm import batch_norm_statistics
from tff_semifl.core import hook_arguments
from tff_semifl.methods import client_parts
from tff_semifl.models import functional
from tff_semifl.training import optimizers


def decay_in_round(round_num: tf.Tensor, decay: float) -> tf.Tensor:
  """The decay in round t, lower at first: min(`decay`, (1 + t) / (10 + t))."""
  t = tf.cast(round_num, tf.float32)
  return tf.minimum(decay, (1.0 + t) / (10.0 + t))


@dataclasses.dataclass(frozen=True, kw_only=True)
class AveragedTeacher(client_parts.Labeler):
  """Labels by a moving average of the server's models.

  The average is sent to clients beside the model that they train, which doubles
  the download. Its batch normalization statistics are of the server's images,
  whatever those of the model are.
  """

  teacher_decay: float = settings.setting(
    0.9,
    'Decay of the moving average of models in a round, less in the first'
    ' rounds; with 0 the teacher is the model itself.',
    settings.BELOW_1,
  )

  def init_guidance(
    self, model: functional.ImageClassifier
  ) -> functional.ModelWeights:
    return tf.nest.map_structure(tf.constant, model.initial_weights)

  def tell(
    self, kept: functional.ModelWeights, server: hook_arguments.Server
  ) -> functional.ModelWeights:
    model = server.model
    if model.batch_moments is None:
      return kept
    return batch_norm_statistics.compute_server_statistics(
      model, kept, server.data
    )

  def guidance(
    self,
    kept: functional.ModelWeights,
    sums: tuple[()],
    server: hook_arguments.Server,
  ) -> functional.ModelWeights:
    del sums  # Clients report nothing.
    decay = decay_in_round(server.round_num, self.teacher_decay)
    return functional.ModelWeights(
      optimizers.move_average(
        tuple(kept.trainable), tuple(server.weights.trainable), decay
      ),
      kept.non_trainable,
    )

  def choose(
    self, client: hook_arguments.ClientContext
  ) -> functional.ModelWeights:
    return client.guidance
