# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Federated SGD of FixMatch as SemiFL's authors ran it (Figure 2).

In `fedsgd_fixmatch` clients keep their images and send gradients. The authors'
program of the paper's time, deleted from their repository since, trained on the
images of a cohort as one batch. This module reproduces their curve.
"""

import tensorflow_federated as tff

from tff_semifl.baselines.fedsgd import gathered_images
from tff_semifl.core import federated_process
from tff_semifl.core import rounds


def union_round(
  p: rounds.Parts,
  state: tff.Value,
  server_data: tff.Value,
  client_data: tff.Value,
  *,
  returns_given_labels: bool,
) -> federated_process.RoundOutput:
  """A round that is one epoch of the clients' images.

  All clients take part in a round, each in as many steps as it has batches; all
  steps of a round have the same learning rate. The images are gathered at the
  server, which takes the steps (`union_training.train_epoch`): a simulation,
  which does not keep images private. Round 0 has no clients and no step. The
  server work is from `union_work.build_union_work`.
  """
  image_shape = p.classifier.image_shape
  context = p.begin(state)
  gathered = gathered_images.build_gathering(image_shape)(client_data)
  trained = p.server(
    state, state.global_model_weights, context, server_data, gathered
  )
  given_labels = ()
  if returns_given_labels:
    given_labels = tff.federated_map(
      gathered_images.build_selection_of_own_labels(image_shape),
      (
        tff.federated_broadcast(trained.measurements.given_labels),
        tff.federated_broadcast(gathered.client_id),
        tff.federated_broadcast(gathered.num_images),
        client_data,
      ),
    )
  return p.finish(
    state,
    context,
    None,
    {
      'client': trained.measurements.client,
      'server': trained.measurements.server,
      'aggregator': tff.federated_value((), tff.SERVER),
    },
    global_model_weights=p.with_statistics(trained.weights, server_data),
    server_work=trained.state,
  )._replace(given_labels=given_labels)
