# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Work of clients and server as TFF processes, to be run without a round."""

from typing import Any

import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

from tff_semifl.core import client_work
from tff_semifl.core import composition
from tff_semifl.core import federated_process
from tff_semifl.core import server_work
from tff_semifl.data import pipelines
from tff_semifl.models import functional

ROUND_CONTEXT_TYPE = tff.types.to_type(
  federated_process.RoundContext(
    seed=np.int32, round_num=np.int32, learning_rate=np.float32
  )
)


class ClientProcess:
  """Client work as a process without state.

  `next` takes (), what each client receives, its data, and memories if there
  are any.
  """

  def __init__(
    self,
    classifier: functional.ImageClassifier,
    work: client_work.ClientWork,
    context: federated_process.RoundContext | None = None,
  ):
    """Initializes the process; `context` has the guidance that is sent."""
    context_type = ROUND_CONTEXT_TYPE
    if context is not None:
      context_type = tff.types.to_type(
        tf.nest.map_structure(
          lambda each: tff.TensorType(np.asarray(each).dtype, np.shape(each)),
          federated_process.RoundContext(
            *map(np.asarray, context[:3])
          )._replace(
            seed=np.int32(0), round_num=np.int32(0), guidance=context.guidance
          ),
        )
      )
    parts = composition.Parts(
      classifier=classifier,
      seed=0,
      learning_rate_fn=lambda _: 0.0,
      client_work=work,
      server_work=server_work.ServerWork(
        initialize=tuple, train=lambda *_: None
      ),
    )
    types = [(classifier.weights_type, context_type), work.data_type]
    self.initialize_memory = None
    if work.initialize_memory is not None:
      self.initialize_memory = tff.tensorflow.computation(
        work.initialize_memory
      )
      types.append(self.initialize_memory.type_signature.result)

    def run(arguments):
      received, data, *memories = arguments
      trained = parts.clients(received, data, *memories or [None])
      return tff.templates.MeasuredProcessOutput(
        tff.federated_value((), tff.SERVER),
        trained.result,
        trained.measurements,
      )

    self._run = tff.federated_computation(
      run,
      tff.StructType(
        [
          (None, tff.FederatedType(tff.types.to_type(each), tff.CLIENTS))
          for each in types
        ]
      ),
    )

  def initialize(self) -> tuple[()]:
    """The empty state."""
    return ()

  @property
  def computation(self) -> tff.Computation:
    """The computation of all clients."""
    return self._run

  def next(self, state: tuple[()], *arguments: Any) -> Any:
    """Runs all clients."""
    del state
    return self._run(*arguments)


def server_process(
  classifier: functional.ImageClassifier, work: server_work.ServerWork
) -> tff.templates.MeasuredProcess:
  """Server work as a process: (state, weights, context, data) -> output."""
  initialize = tff.tensorflow.computation(work.initialize)

  @tff.federated_computation
  def initialize_fn():
    return tff.federated_eval(initialize, tff.SERVER)

  @tff.federated_computation(
    *(
      tff.FederatedType(each, tff.SERVER)
      for each in (
        initialize.type_signature.result,
        classifier.weights_type,
        ROUND_CONTEXT_TYPE,
        pipelines.labeled_type(classifier.image_shape),
      )
    )
  )
  def next_fn(state, weights, context, dataset):
    return tff.templates.MeasuredProcessOutput(
      *composition.run(work.train, state, weights, context, dataset)
    )

  return tff.templates.MeasuredProcess(initialize_fn, next_fn)
