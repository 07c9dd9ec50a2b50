# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The numbers that all systems of SemiFL's experiments have in common."""

import dataclasses

import tensorflow_federated as tff

from tff_semifl import optimizers


@dataclasses.dataclass(frozen=True, kw_only=True)
class Hyperparameters:
  """How server and clients train. Defaults are SemiFL's (Tables 4 and 5).

  Attributes:
    total_rounds: T, the length of the learning rate schedule.
    server_batch_size: Labelled images in a step: 250, or 10 for up to 250
      labelled images in all (D4).
    seed: The run's seed.
    client_epochs: E of the clients; below 1, a share of one epoch (A.10).
    server_epochs: E of the server. 0 makes the server only average.
    client_batch_size: Images in a step of a client.
    confidence_threshold: tau, in (0, 1].
    learning_rate: That of the first round, for server and clients.
    optimizer: For server and clients. The schedule sets its learning rate.
    global_momentum: beta_g, in [0, 1); 0 makes it a plain mean (D15).
    keep_server_momentum: Whether the server's optimizer goes on with its state
      of the last round; the code that the tables were probably made with did
      not (D5).
    keep_client_momentum: Whether a client's optimizer goes on with its state
      of the client's last turn, as in the authors' code (D5).
    max_update_norm_ratio: A client's update counts for nothing if it is longer
      than so many times the weights that it was sent, or than so much where
      these are shorter than 1: training exploded, or the client lies.
    server_statistics: Whether a round ends with static batch normalisation
      statistics of the server's images (D10). If not, they stay as they are,
      for whoever computes them between rounds.
    return_given_labels: Whether rounds return the pseudo-labels that clients
      gave (see `RoundOutput`), for a simulation that knows the truth.
  """

  total_rounds: int
  server_batch_size: int
  seed: int = 0
  client_epochs: float = 5
  server_epochs: float = 5
  client_batch_size: int = 10
  confidence_threshold: float = 0.95
  learning_rate: float = 0.03
  optimizer: tff.learning.optimizers.Optimizer = dataclasses.field(
    default_factory=optimizers.build_nesterov_sgd
  )
  global_momentum: float = 0.5
  keep_server_momentum: bool = True
  keep_client_momentum: bool = False
  max_update_norm_ratio: float = 10.0
  server_statistics: bool = True
  return_given_labels: bool = False
