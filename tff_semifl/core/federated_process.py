# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The interface of all processes: context, arguments and results of a round."""

from collections.abc import Callable, Sequence
import dataclasses
from typing import Any, NamedTuple

import tensorflow as tf
import tensorflow_federated as tff

from tff_semifl.randomness import random_seeds


class RoundContext(NamedTuple):
  """The values that clients receive together with the model weights.

  `guidance` maps the name of each guide (`method.Guiding`) to its message for
  clients. `guidance` is () at the server and in methods without guides.
  """

  seed: int
  round_num: int
  learning_rate: float
  guidance: Any = ()


@dataclasses.dataclass(frozen=True)
class Node:
  """A client or server in a round, with its own random numbers.

  `key`, an int32 scalar, is the client's number. Replicas of the server have
  the keys -1, -2 and so on; a single server has the key None.
  """

  context: RoundContext
  key: tf.Tensor | None = None

  def seed(
    self, purpose: random_seeds.Purpose, *keys: tf.Tensor | int
  ) -> tf.Tensor:
    """The node's stateless seed for a purpose in the round, int32 [2].

    `keys` are int32 scalars, such as epoch and batch.
    """
    own_key = () if self.key is None else (self.key,)
    return random_seeds.stateless_seed(
      self.context.seed, purpose, self.context.round_num, *own_key, *keys
    )


class RoundOutput(NamedTuple):
  """The output of a round; `state` and `metrics` are at SERVER.

  Attributes:
    memories: The memory of each client of the cohort after the round, at
      CLIENTS; () if clients have no memory.
    given_labels: The pseudo-labels (`GivenLabels`) of each client of the
      cohort, at CLIENTS, so that a simulation can compare them with the true
      labels; () if the process does not return them.
  """

  state: Any
  metrics: Any
  memories: Any = ()
  given_labels: Any = ()


class FederatedProcess(tff.templates.IterativeProcess):
  """An iterative process in which both clients and the server have data.

  Types are S for the state, L for chunks of the server's data, U for chunks of
  a client's data, M for metrics and G for `GivenLabels`:

      initialize: ( -> S@SERVER)
      next: (<state=S@SERVER, server_data=L*@SERVER, client_data={U*}@CLIENTS>
             -> <state=S@SERVER, metrics=M@SERVER, memories=<>,
                 given_labels={G}@CLIENTS or <>>)

  Clients may have a memory that lasts from round to round, such as an
  optimizer's momentum. Then `next` has `memories={C}@CLIENTS` as its last
  argument and `memories={R}@CLIENTS` in its result, with C for the memory
  before and R for the memory after a round. The program that runs the process
  stores memories between rounds, as in `client_states.Memories`.

  Attributes:
    initialize_memory: ( -> C), or None if clients have no memory.
    preparations: Computations (<S@SERVER, L*@SERVER, {U*}@CLIENTS> -> S@SERVER)
      to run in order, with all clients, before the first round with clients.
  """

  def __init__(
    self,
    initialize_fn: tff.Computation,
    next_fn: tff.Computation,
    initialize_memory: tff.Computation | None = None,
    preparations: Sequence[tff.Computation] = (),
  ):
    super().__init__(initialize_fn, next_fn)
    self.initialize_memory = initialize_memory
    self.preparations = tuple(preparations)


def build_federated_process(
  initialize_fn: tff.Computation,
  run_round: Callable[..., RoundOutput],
  *,
  server_data_type: tff.SequenceType,
  client_data_type: tff.SequenceType,
  initialize_memory: tff.Computation | None = None,
  prepare: Callable[..., tff.Value] | None = None,
) -> FederatedProcess:
  """Builds a process from a function that runs one round.

  `run_round` and `prepare` are called inside a federated computation, with
  state, server data and client data. If clients have memories, `run_round` gets
  the memories as its last argument. `run_round` may return empty structures as
  `memories` and `given_labels`.
  """

  def run(arguments: tff.Value) -> RoundOutput:
    output = run_round(*arguments)
    return output._replace(
      memories=_drop_if_empty(output.memories),
      given_labels=_drop_if_empty(output.given_labels),
    )

  types = [
    ('state', initialize_fn.type_signature.result),
    ('server_data', tff.FederatedType(server_data_type, tff.SERVER)),
    ('client_data', tff.FederatedType(client_data_type, tff.CLIENTS)),
  ]
  preparations = []
  if prepare is not None:
    preparations = [
      tff.federated_computation(
        lambda arguments: prepare(*arguments), tff.StructType(types)
      )
    ]
  memory = []
  if initialize_memory is not None:
    memory_type = initialize_memory.type_signature.result
    memory = [('memories', tff.FederatedType(memory_type, tff.CLIENTS))]
  return FederatedProcess(
    initialize_fn,
    tff.federated_computation(run, tff.StructType([*types, *memory])),
    initialize_memory,
    preparations,
  )


def _drop_if_empty(value: Any) -> Any:
  if value == () or value.type_signature.member == tff.types.to_type(()):
    return ()
  return value
