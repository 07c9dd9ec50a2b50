# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""An iterative process whose clients are helped by models of others (D.6)."""

from typing import Any, NamedTuple

import tensorflow_federated as tff


class HelpedOutput(NamedTuple):
  """What a round returns if clients may help others later.

  Attributes:
    state: As in `tff.learning.templates.LearningProcessOutput`.
    metrics: Likewise.
    client_models: What the server is to remember of each of the cohort.
  """

  state: Any
  metrics: Any
  client_models: Any


class HelpedProcess(tff.templates.IterativeProcess):
  """A process that takes helpers for clients, and returns clients' models.

  With S, L, U and M as the process has them, H for what a client is sent of its
  helpers and C for a `ClientModel`:

      initialize: ( -> S@SERVER)
      next: (<S@SERVER, server_data=L*@SERVER, client_data={U*}@CLIENTS,
              helpers={H}@CLIENTS>
             -> <state=S@SERVER, metrics=M@SERVER, client_models={C}@CLIENTS>)

  H holds tensors of other clients' models, with the helpers, as many as there
  are, as a first dimension. Who helps whom is up to whoever runs it, as
  `programs.helpers` does. That models travel from client to client is the
  method: no secure sum can hide them, and no noise of an aggregator.
  """
