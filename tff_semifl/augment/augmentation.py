# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The type of an image augmentation."""

from collections.abc import Callable

import tensorflow as tf

# uint8 images [batch, height, width, channels] and a stateless seed, int32 [2],
# to images of the same shape and dtype. The same seed gives the same images.
Augmentation = Callable[[tf.Tensor, tf.Tensor], tf.Tensor]
