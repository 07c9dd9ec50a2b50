# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The classifier that the server's labels give without any client."""

import tensorflow as tf

from tff_semifl.methods.client_priors import components as components_lib
from tff_semifl.methods.client_priors import linear_head
from tff_semifl.methods.client_priors import logistic_regression
from tff_semifl.models import functional


def fit(
  head: linear_head.LinearHead, x: tf.Tensor, targets: tf.Tensor
) -> functional.ModelWeights:
  """Fits a logistic regression of the principal components.

  Args:
    head: The model.
    x: float32 [examples, features], the server's.
    targets: float64 [examples, classes], one-hot.

  Returns:
    The weights of the model.
  """
  # The penalty of a regression does what fewer components would.
  components = components_lib.find(
    components_lib.measure(x), lambda count: count
  )
  weights, _ = logistic_regression.fit(
    components_lib.project(x, components), targets
  )
  return head.to_weights(components.projection @ weights)
