# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""What rounds return if clients return the pseudo-labels that they gave."""

from typing import Any, NamedTuple

import tensorflow_federated as tff

from tff_semifl.algorithms import helped_process
from tff_semifl.algorithms import stateful_process


class LabeledOutput(NamedTuple):
  """A `LearningProcessOutput` with the labels of the round.

  Attributes:
    state: As in `tff.learning.templates.LearningProcessOutput`.
    metrics: Likewise.
    given_labels: `GivenLabels` of the cohort; they stay at the clients.
  """

  state: Any
  metrics: Any
  given_labels: Any


class StatefulLabeledOutput(NamedTuple):
  """A `StatefulOutput` with the labels of the round.

  Attributes:
    state: As in `StatefulOutput`.
    metrics: Likewise.
    client_states: Likewise.
    given_labels: As in `LabeledOutput`.
  """

  state: Any
  metrics: Any
  client_states: Any
  given_labels: Any


class HelpedLabeledOutput(NamedTuple):
  """A `HelpedOutput` with the labels of the round.

  Attributes:
    state: As in `HelpedOutput`.
    metrics: Likewise.
    client_models: Likewise.
    given_labels: As in `LabeledOutput`.
  """

  state: Any
  metrics: Any
  client_models: Any
  given_labels: Any


_LABELED = {
  tff.learning.templates.LearningProcessOutput: LabeledOutput,
  stateful_process.StatefulOutput: StatefulLabeledOutput,
  helped_process.HelpedOutput: HelpedLabeledOutput,
}


def add_labels(output: Any, given_labels: Any) -> Any:
  """Returns an output of a round with labels.

  Args:
    output: One without.
    given_labels: At CLIENTS.
  """
  return _LABELED[type(output)](*output, given_labels)
