# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""What is measured in a round, and written down as a row of a table."""

import collections
from collections.abc import Mapping
from typing import Any, NamedTuple


class TestMetrics(NamedTuple):
  """The global model on the test images, after the server's turn.

  Attributes:
    accuracy: Share of right predictions.
    loss: Mean cross-entropy.
    best_accuracy: The highest accuracy up to this round (D16).
  """

  accuracy: float
  loss: float
  best_accuracy: float


class ServerMetrics(NamedTuple):
  """The server's training, over all its steps of the round."""

  loss: float
  accuracy: float


class ClientMetrics(NamedTuple):
  """The clients of the round; all 0 if there are none.

  Attributes:
    loss: Mean training loss.
    accuracy: Share of strong views that the models being trained gave their
      pseudo-label.
    label_ratio: Share of images whose pseudo-label was trained on.
    pseudo_accuracy: Share of right pseudo-labels.
    threshold_accuracy: Share of right ones among those trained on, averaged
      over clients (D17).
    micro_threshold_accuracy: The same over all images of all clients.
    num_participating: Clients whose update counted.
    num_rejected: Clients whose update was not finite or far too long.
    num_dropped: Clients that were chosen but not heard of.
  """

  loss: float
  accuracy: float
  label_ratio: float
  pseudo_accuracy: float
  threshold_accuracy: float
  micro_threshold_accuracy: float
  num_participating: float
  num_rejected: float
  num_dropped: float


class RoundMetrics(NamedTuple):
  """One row of `metrics.csv`; a field `b` of a part `a` is column `a/b`.

  Scripts of users read these columns: do not rename or reorder them.

  Attributes:
    test: The global model after the round.
    server: The server's turn.
    client: The clients' turn.
    learning_rate: Of both.
    seconds: How long all of it took since the row before, measuring included.
    aggregator: Measurements of the aggregator, if it makes any; `epsilon` is
      what has been spent of differential privacy so far.
    final_test: The model on the test images once more, with the statistics of
      the authors' final test, `accuracy` and `loss` (D11), if asked for.
  """

  test: TestMetrics
  server: ServerMetrics
  client: ClientMetrics
  learning_rate: float
  seconds: float
  aggregator: Mapping[str, Any]
  final_test: Mapping[str, float] = collections.OrderedDict()
