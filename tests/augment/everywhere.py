# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Runs an augmentation in all the ways that programs run augmentations."""

from collections.abc import Callable

import numpy as np
import tensorflow as tf

from tff_semifl.core import compiled_steps
from tff_semifl.randomness import portable_draws
from tff_semifl.randomness import random_draws


def run_everywhere(
  augment: Callable[[tf.Tensor, tf.Tensor], tf.Tensor],
  images: np.ndarray,
  seed: tf.Tensor,
) -> dict[str, np.ndarray]:
  """Runs an augmentation eagerly, in a graph and in `tf.data`."""
  spec = tf.TensorSpec([None, *images.shape[1:]], images.dtype)
  in_graph = tf.function(
    augment, input_signature=[spec, tf.TensorSpec([2], tf.int32)]
  )
  # Traced once for both calls.
  dataset = tf.data.Dataset.from_tensors(images).map(
    lambda x: in_graph(x, seed)
  )
  return {
    'eager': augment(tf.constant(images), seed).numpy(),
    'graph': in_graph(images, seed).numpy(),
    'dataset': dataset.get_single_element().numpy(),
  }


def run_statically(
  augment: Callable[[tf.Tensor, tf.Tensor], tf.Tensor],
  images: np.ndarray,
  seed: tf.Tensor,
  *,
  jit_compile: bool = False,
) -> np.ndarray:
  """Runs an augmentation with static shapes, as compiled training does."""

  @tf.function(jit_compile=jit_compile or None)
  def run(images, seed):
    with (
      random_draws.drawing_by(portable_draws),
      compiled_steps.applying_to_all(),
    ):
      return augment(images, seed)

  return run(images, seed).numpy()
