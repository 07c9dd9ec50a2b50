# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The two forms of a client's local training, which compute the same.

In the dynamic form, the default, tensors have as many rows as there is to
compute: the images that the client is sure of, those of the last batch. In the
compiled form, all is one program of XLA, which on a GPU spares the launch of
each small operation. Its shapes depend on the number of the client's images
alone; rows that are not needed are padding. On a CPU it is slower.

XLA compiles the program once for each number of images. So that these are few,
images are padded to a power of two, if the method allows it.
"""

from collections.abc import Callable, Mapping
import dataclasses
from typing import Any

import tensorflow as tf

from tff_semifl import portable_draws
from tff_semifl import random_draws
from tff_semifl import tracing
from tff_semifl.augment import augmentation
from tff_semifl.augment import rand_augment
from tff_semifl.models import functional
from tff_semifl.work import client_work_process
from tff_semifl.work import given_labels as given_labels_lib
from tff_semifl.work import padded_rows
from tff_semifl.work import round_context
from tff_semifl.work import rows as rows_lib

# (weights, round context, data, optimizer state) -> `ClientResult`, and sums.
Turn = Callable[
  [
    functional.ModelWeights,
    round_context.RoundContext,
    Mapping[str, tf.Tensor],
    Any,
  ],
  tuple[client_work_process.ClientResult, Any],
]


@dataclasses.dataclass(frozen=True, kw_only=True)
class TurnForm:
  """The form of a turn, of which its parts are made.

  Attributes:
    rows: Makes rows of examples.
    pad: Adds padding to the images of a client, and `num_images`, how many
      there are without it, int32 scalar; or leaves all as it is.
    run: Makes a turn of another, whose parts are of this form.
    no_labels: Makes `GivenLabels` without any, to which more are added once.
    make_room: (no labels yet, for how many there is to be room) -> labels that
      can be extended in a loop.
    check_views: (augmentation, shape of an image) -> nothing. Raises an error
      for an augmentation that a turn of this form cannot have.
  """

  rows: rows_lib.RowsFn
  pad: Callable[[Mapping[str, tf.Tensor]], Mapping[str, tf.Tensor]]
  run: Callable[[Turn], Turn]
  no_labels: Callable[[], given_labels_lib.GivenLabels]
  make_room: Callable[
    [given_labels_lib.KeptLabels, tf.Tensor], given_labels_lib.KeptLabels
  ]
  check_views: Callable[
    [augmentation.Augmentation, tuple[int, int, int]], None
  ] = lambda augment, image_shape: None


def _pad(data: Mapping[str, tf.Tensor]) -> Mapping[str, tf.Tensor]:
  """Pads images to a power of two, with copies of the last one."""
  number = tf.shape(data['image'])[0]
  # Of one less, all bits after the first are set; of none, all are.
  last = number - 1
  for num_bits in (1, 2, 4, 8, 16):
    last |= tf.bitwise.right_shift(last, num_bits)
  rows = tf.minimum(tf.range(last + 1), number - 1)
  return {
    **{
      name: tf.gather(value, rows) if value.shape.rank else value
      for name, value in data.items()
    },
    'num_images': number,
  }


def _compile(turn: Turn) -> Turn:
  """Returns a turn that is one program of XLA."""

  def compute(*arguments: Any):
    with (
      random_draws.drawing_by(portable_draws.GENERATOR),
      rand_augment.applying_to_all(),
    ):
      return turn(*arguments)

  run = tf.function(tracing.as_it_is(compute), jit_compile=True)

  def run_unless_empty(weights, context, data, optimizer_state):
    arguments = (weights, context, data, optimizer_state)
    outputs = run.get_concrete_function(*arguments).structured_outputs

    def do_nothing():
      result, sums = tf.nest.map_structure(
        # Only the number of given labels is not known.
        lambda spec: tf.zeros([size or 0 for size in spec.shape], spec.dtype),
        outputs,
      )
      return result._replace(memory=optimizer_state), sums

    # Rows of padding are those of some image.
    return tf.cond(
      tf.shape(data['image'])[0] > 0, lambda: run(*arguments), do_nothing
    )

  return run_unless_empty


def _no_labels() -> given_labels_lib.GivenLabels:
  return given_labels_lib.make_room(tf.constant(0)).labels


def _make_room(
  labels: given_labels_lib.KeptLabels, number: tf.Tensor
) -> given_labels_lib.KeptLabels:
  if labels == given_labels_lib.NOT_KEPT:
    return labels
  return given_labels_lib.make_room(number)


DYNAMIC = TurnForm(
  rows=rows_lib.AllRows,
  pad=lambda data: data,
  run=lambda turn: turn,
  no_labels=given_labels_lib.none,
  make_room=lambda labels, number: labels,
)
COMPILED = TurnForm(
  rows=padded_rows.PaddedRows,
  pad=_pad,
  run=_compile,
  no_labels=_no_labels,
  make_room=_make_room,
  check_views=rand_augment.check_can_be_compiled,
)
