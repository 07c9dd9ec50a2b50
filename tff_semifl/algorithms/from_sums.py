# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""A system whose server computes the model from sums over clients."""

from collections.abc import Sequence
import dataclasses
import types

import tensorflow as tf
import tensorflow_federated as tff

from tff_semifl import settings
from tff_semifl.algorithms import round_parts
from tff_semifl.algorithms import system
from tff_semifl.algorithms import training_settings
from tff_semifl.core import alternating_round
from tff_semifl.core import client_work
from tff_semifl.core import composition
from tff_semifl.core import method


@dataclasses.dataclass(frozen=True, kw_only=True)
class FromSums(system.System):
  """The server computes the model from clients' reports; clients do not train.

  Clients run the hook `report`, the server `update`. In round 0 all sums are 0.
  """

  uses_strong_views = False
  rounds_may_be_added = True
  server_trains_alone = False
  # The sums are over the images themselves.
  usual = types.MappingProxyType({'weak_augmentation': 'none'})

  client: method.Method
  cohorts: training_settings.Cohorts = training_settings.Cohorts()
  total_rounds: int = settings.setting(
    10, 'Rounds, each with a pass over its clients.', settings.AT_LEAST_1
  )

  def build(self, ingredients: system.Ingredients) -> system.Process:
    client = self.client
    hooks = {'update': True, 'loss': False, 'after_step': False}
    for hook, is_wanted in hooks.items():
      if method.overrides(client, hook) != is_wanted:
        problem = 'is missing' if is_wanted else 'has no effect'
        raise TypeError(
          f'{type(client).__qualname__}: {hook} {problem} in FromSums'
        )
    optimizer = tff.learning.optimizers.build_sgdm(1.0)  # Takes no step.
    parts = round_parts.build_round_parts(
      ingredients,
      client_work.build_client_work(
        ingredients.classifier,
        round_parts.build_local_training(client, ingredients, optimizer, None),
        optimizer=optimizer,
        kept=client_work.Kept(
          initialize=client.init_memory if client.keeps_memory else None
        ),
        max_update_norm_ratio=1.0,
        measure_weight_diversity=False,
        return_given_labels=ingredients.returns_given_labels,
      ),
      round_parts.build_server_work(
        ingredients, optimizer, training_settings.NO_SERVER_STEP
      ),
      learning_rate_fn=lambda _: tf.constant(0.0),
      guides=client.guides,
    )
    parts = dataclasses.replace(parts, aggregator=None, finalizer=None)
    return composition.build(parts, alternating_round.semifl_round)

  def count_steps(
    self, num_labeled: int, client_sizes: Sequence[int]
  ) -> system.Steps:
    del num_labeled, client_sizes
    return system.Steps(1, 0)
