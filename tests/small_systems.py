# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Systems of the registry with a small model."""

from collections.abc import Callable, Iterator, Mapping
import contextlib
import dataclasses
import functools
import types
from typing import Any
from unittest import mock

import tensorflow as tf
import tensorflow_federated as tff

from tests import linear_reference
from tff_semifl import settings
from tff_semifl.algorithms import system as system_lib
from tff_semifl.algorithms import training_settings
from tff_semifl.augment import augmentation
from tff_semifl.core import evaluation
from tff_semifl.core import federated_process
from tff_semifl.experiment import experiment
from tff_semifl.experiment import experiment_settings
from tff_semifl.experiment import statistics
from tff_semifl.experiment import system_registry
from tff_semifl.models import functional
from tff_semifl.privacy import means

_NOTHING = types.MappingProxyType({})


def create(
  system_name: str,
  changes: Mapping[str, Any] = _NOTHING,
  *,
  usual: Mapping[str, Any] = _NOTHING,
) -> Any:
  """A system of the registry with other settings.

  The system must have the settings `changes`; of `usual`, only the settings
  that the system has are changed.
  """
  system = settings.change_present(system_registry.SYSTEMS[system_name], usual)
  return settings.fill_in(
    settings.change(system, changes), training_settings.SEMIFL
  )


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Aggregator(means.Aggregator):
  """An aggregator without settings."""

  factory: tff.aggregators.AggregationFactory

  def build(self, **_):
    return self.factory


def use_aggregator(
  system: Any, factory: tff.aggregators.AggregationFactory
) -> Any:
  """Replaces the aggregator of a system by any TFF aggregator."""
  return dataclasses.replace(
    system,
    averaging=dataclasses.replace(
      system.averaging, aggregator=_Aggregator(factory=factory)
    ),
  )


def create_ingredients(
  *,
  classifier: functional.ImageClassifier | None = None,
  weak_augmentation: augmentation.Augmentation = linear_reference.unchanged,
  strong_augmentation: augmentation.Augmentation = linear_reference.unchanged,
  **others: Any,
) -> system_lib.Ingredients:
  """Ingredients of a process, by default with a linear model."""
  return system_lib.Ingredients(
    classifier=classifier or _create_classifier(),
    weak_augmentation=weak_augmentation,
    strong_augmentation=strong_augmentation,
    **others,
  )


def build(
  system_name: str,
  changes: Mapping[str, Any] = _NOTHING,
  *,
  usual: Mapping[str, Any] = _NOTHING,
  **ingredients: Any,
) -> federated_process.FederatedProcess:
  """Builds the process of `create` with `create_ingredients`.

  A process keeps nothing, so that tests can share one. Building a process takes
  longer than most rounds of these tests.
  """
  system = create(system_name, changes, usual=usual)
  parts = create_ingredients(**ingredients)
  # Arrays and functions are equal only to themselves.
  key = (system, *(id(value) for value in vars(parts).values()))
  if key not in _built:
    # The parts are kept too, because ids are unique only while objects live.
    _built[key] = parts, system.build(parts)
  return _built[key][1]


def without_process(system_name: str) -> Any:
  """A context in which experiments do not build the slow process."""
  return mock.patch.object(type(system_registry.SYSTEMS[system_name]), 'build')


@contextlib.contextmanager
def without_computations() -> Iterator[None]:
  """A context in which experiments have no computations, which take long."""
  classifier = mock.MagicMock()
  classifier.variables.frozen = ()
  built = classifier, mock.MagicMock()
  with (
    mock.patch.object(experiment, 'build_process', return_value=built),
    mock.patch.object(statistics.Statistics, 'create_pass'),
    mock.patch.object(evaluation, 'build_evaluation'),
  ):
    yield


def building_once(system_name: str) -> Any:
  """A context in which equal systems share one process.

  For runs that resume other runs, or differ only in settings that do not change
  the process, such as the place of images. Model and task must be the same.
  """
  system_type = type(system_registry.SYSTEMS[system_name])
  build_once = _once(system_type.build, key=lambda system, _: system)
  return mock.patch.object(system_type, 'build', build_once)


@contextlib.contextmanager
def sharing_models() -> Iterator[None]:
  """A context in which experiments with equal model and task share both.

  For experiments that are run one after another: each model begins with its
  initial weights.
  """
  create_model = _once(
    experiment_settings.ExperimentSettings.create_model,
    key=lambda chosen, _: (chosen.model, chosen.seed, chosen.data.task),
  )
  from_keras = _once(
    functional.from_keras,
    key=lambda model, **options: (id(model), options['jit_compile']),
  )

  def create_with_initial_weights(
    model: tf.keras.Model, *, jit_compile: bool = False
  ) -> functional.ImageClassifier:
    classifier = from_keras(model, jit_compile=jit_compile)
    classifier.variables.assign(classifier.initial_weights)
    return classifier

  with (
    mock.patch.object(
      experiment_settings.ExperimentSettings, 'create_model', create_model
    ),
    mock.patch.object(functional, 'from_keras', create_with_initial_weights),
    mock.patch.object(
      evaluation,
      'build_evaluation',
      _once(
        evaluation.build_evaluation,
        key=lambda classifier, **options: (id(classifier), *options.items()),
      ),
    ),
  ):
    yield


def _once(function: Callable[..., Any], key: Callable[..., Any]) -> Any:
  """A function that calls `function` once for arguments with equal keys."""
  results = {}

  def call_once(*args, **options):
    found = key(*args, **options)
    if found not in results:
      # The arguments are kept too, because ids are unique only while objects
      # live.
      results[found] = args, function(*args, **options)
    return results[found][1]

  return call_once


_built = {}
_create_classifier = functools.cache(linear_reference.create_classifier)
