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
  """The server's training, over all steps of the round; NaN without any."""

  loss: float
  accuracy: float


class ClientMetrics(NamedTuple):
  """The clients of the round. What was not measured is NaN.

  Attributes:
    loss: Mean training loss; NaN if no image was trained on.
    accuracy: Share of strong views that the models being trained gave their
      pseudo-label; NaN likewise.
    label_ratio: Share of pseudo-labels that were trained on; NaN if none was
      made.
    pseudo_accuracy: As in `PseudoLabelQuality`, as are the next two.
    threshold_accuracy: Likewise.
    micro_threshold_accuracy: Likewise.
    num_participating: Clients whose update counted.
    num_rejected: Clients whose update was not finite or far too long.
    num_dropped: Clients that were chosen but not heard of.
    weight_diversity: Of the updates that counted (`weight_diversity.measure`);
      NaN if none of them changed the last layer, the model has no dense one, or
      updates are private.
    relative_weight_diversity: Times the number of these clients; NaN likewise.
    own: What else the clients of a system measure, by name.
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
  weight_diversity: float
  relative_weight_diversity: float
  own: Mapping[str, float] = collections.OrderedDict()


def create_client_metrics(
  measured: Mapping[str, float], **others: float
) -> ClientMetrics:
  """Creates metrics of clients of what their process has measured.

  Args:
    measured: By name; what is no field goes to `own`.
    **others: Other fields.
  """
  fields, own = {}, collections.OrderedDict()
  for name, value in measured.items():
    (fields if name in ClientMetrics._fields else own)[name] = value
  return ClientMetrics(**fields, **others, own=own)


class RoundMetrics(NamedTuple):
  """One row of `metrics.csv`; a field `b` of a part `a` is column `a/b`.

  Scripts of users read these columns: do not rename or reorder them. NaN, what
  was not measured, is an empty cell.

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
