# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Client priors on features: a linear classifier by empirical Bayes."""

from collections.abc import Sequence
import dataclasses
import math
import types

from tff_semifl import settings
from tff_semifl.aggregation import aggregator_settings
from tff_semifl.core import federated_process
from tff_semifl.methods.client_priors import process
from tff_semifl.methods.client_priors import server_steps
from tff_semifl.systems import system


@dataclasses.dataclass(frozen=True, kw_only=True)
class ClientPriors(system.System):
  """A linear classifier of features, and each client's class shares.

  Round 0 is a regression of the labels alone. With differential privacy the
  principal components are those of the server's examples, and the numbers of
  clients' examples are not private.
  """

  uses_strong_views = False
  chooses_statistics = False
  measures_pseudo_labels = True
  cohorts_are_passes = True
  models = ('linear',)
  usual = types.MappingProxyType({'model': 'linear'})

  cohort_size: int | None = settings.setting(
    None,
    'Clients of a round. By default all; with fewer there have to be more'
    ' rounds.',
    settings.AT_LEAST_1,
  )
  client_dropout_probability: float = settings.setting(
    0.0,
    'How often a client that was chosen for a round is not heard of again in'
    ' it.',
    settings.BELOW_1,
  )
  total_rounds: int = settings.setting(
    server_steps.PASSES,
    f'Rounds. All clients have to take part {server_steps.PASSES} times, so'
    ' that a tenth of them in each round needs ten times as many.',
    settings.AT_LEAST_1,
  )
  averaging: aggregator_settings.ChosenAggregator = (
    aggregator_settings.ChosenAggregator()
  )

  def build(
    self, ingredients: system.Ingredients
  ) -> federated_process.FederatedProcess:
    """Builds the process.

    Raises:
      settings.SettingError: If the aggregator adds noise, and cohorts have no
        known size.
    """
    is_private = self.averaging.private_mean is not None
    if is_private and self.cohort_size is None:
      raise settings.SettingError(
        'cohort_size',
        None,
        'differential privacy divides by the number of clients of a round; give'
        ' it',
      )
    return process.build(
      ingredients.classifier,
      self.averaging.aggregator.build(
        self.cohort_size, ingredients.privacy_key
      ),
      returns_given_labels=ingredients.returns_given_labels,
      clients_give_components=not is_private,
      cohort_size=self.cohort_size,
    )

  def check_num_clients(self, num_clients: int) -> None:
    """Checks that rounds are enough for all clients to take part."""
    if self.cohort_size is None:
      return
    if self.cohort_size > num_clients:
      raise settings.SettingError(
        'cohort_size', self.cohort_size, f'there are {num_clients} clients'
      )
    if (
      self.averaging.private_mean is not None and self.cohort_size < num_clients
    ):
      raise settings.SettingError(
        'cohort_size',
        self.cohort_size,
        f'with differential privacy all {num_clients} clients take part',
      )
    needed = server_steps.PASSES * math.ceil(num_clients / self.cohort_size)
    if self.total_rounds < needed:
      raise settings.SettingError(
        'total_rounds',
        self.total_rounds,
        f'with {self.cohort_size} of {num_clients} clients a round, choose'
        f' {needed}',
      )

  def count_steps(
    self, num_labeled: int, client_sizes: Sequence[int]
  ) -> system.Steps:
    """Counts the steps of a round: the server takes one."""
    del num_labeled, client_sizes
    return system.Steps(1, 0)

  @property
  def all_clients_take_part(self) -> bool:
    """True unless a smaller cohort is chosen."""
    return self.cohort_size is None

  @property
  def clients_per_round(self) -> int:
    """Clients of a round; 0 if all take part."""
    return self.cohort_size or 0

  @property
  def has_clients(self) -> bool:
    """True: there are."""
    return True

  @property
  def aggregation(self) -> aggregator_settings.ChosenAggregator:
    """The aggregation of what clients send."""
    return self.averaging
