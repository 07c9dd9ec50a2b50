# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Mean Teacher at each client.

The teacher, which labels images, is a moving average of the client's weights.

  python -m launch.train examples.ema_teacher:EMA_TEACHER --teacher_decay=0.9

References:
  Tarvainen, Valpola. Mean teachers are better role models. NeurIPS 2017.
"""

import dataclasses
from typing import Any

import tensorflow as tf

import tff_semifl as sfl


@dataclasses.dataclass(frozen=True, kw_only=True)
class EMATeacher(sfl.LabelEachBatch):
  """Labels each batch by a moving average of the client's weights."""

  teacher_decay: float = sfl.setting(0.9, 'Decay of the moving average.')

  def init_state(self, client: sfl.ClientContext) -> Any:
    """The initial teacher: the received model."""
    return client.received

  def label(
    self, client: sfl.ClientContext, state: Any
  ) -> tuple[Any, tf.Tensor]:
    """Labels a batch with the teacher."""
    return super().label(client.by(state), state)

  def after_step(self, state: Any, weights: Any) -> Any:
    """Moves the teacher towards the client's new weights."""
    decay = self.teacher_decay
    return tf.nest.map_structure(
      lambda old, new: decay * old + (1 - decay) * new, state, weights
    )


EMA_TEACHER = sfl.Alternating(client=EMATeacher())
