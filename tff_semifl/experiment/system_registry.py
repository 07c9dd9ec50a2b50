# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The systems by name."""

import contextlib

from tff_semifl import settings
from tff_semifl.algorithms import system
from tff_semifl.settings import references

SYSTEMS = references.Options(
  __name__.partition('.')[0],
  {
    'semifl': 'algorithms.fix_mix:SEMIFL',
    # The ablations and other rows of SemiFL's tables.
    'batch_label_semifl': 'algorithms.fix_mix:BATCH_LABEL_SEMIFL',
    'parallel_semifl': 'algorithms.fix_mix:PARALLEL_SEMIFL',
    'fedavg_fixmatch': 'algorithms.fix_mix:FEDAVG_FIXMATCH',
    'fedrgd_as_in_semifl': 'algorithms.fix_mix:FEDRGD_AS_IN_SEMIFL',
    'fedmatch_as_in_semifl': 'baselines.fedmatch.fedmatch:FedMatchAsInSemiFL',
    'fedsgd_fixmatch': 'baselines.fedsgd.fedsgd:FedSGD',
    'fedsgd_fixmatch_as_in_semifl': (
      'baselines.fedsgd.fedsgd:FedSGDAsInSemiFL'
    ),
    'supervised_fedavg': 'algorithms.supervised_fedavg:Supervised',
    # Some clients have labels, in the last of these systems also the server.
    'fixmatch_labeled_clients': 'algorithms.fix_mix:FIXMATCH_LABELED_CLIENTS',
    'semifl_labeled_clients': 'algorithms.fix_mix:SEMIFL_LABELED_CLIENTS',
    'labeled_clients_alone': (
      'algorithms.supervised_fedavg:LABELED_CLIENTS_ALONE'
    ),
    'semifl_server_and_clients': 'algorithms.fix_mix:SEMIFL_SERVER_AND_CLIENTS',
    'labels_alone': 'baselines.one_place.centralized:LabelsAlone',
    'all_labels': 'baselines.one_place.centralized:AllLabels',
    'fedmatch': 'baselines.fedmatch.fedmatch:FedMatch',
    'flfl': 'algorithms.flfl:FLFL',
    # SemiFL with one or more parts of later methods.
    'composed_semifl': 'algorithms.flfl:COMPOSED_SEMIFL',
    'client_prior_semifl': 'algorithms.client_prior_semifl:CLIENT_PRIOR_SEMIFL',
    'client_prior_network': (
      'algorithms.client_prior_network:ClientPriorNetwork'
    ),
    'true_prior_semifl': 'algorithms.client_prior_semifl:TruePriorSemiFL',
    # A linear classifier on features or pixels.
    'client_priors': 'algorithms.client_priors.client_priors:ClientPriors',
    # Centralized training on labels and a pool of unlabeled images.
    'pi_model': 'baselines.one_place.consistency:PI_MODEL',
    'pseudo_labeling': 'baselines.one_place.fixmatch:PSEUDO_LABELING',
    'mean_teacher': 'baselines.one_place.consistency:MEAN_TEACHER',
    'mixmatch': 'baselines.one_place.mixmatch:MIXMATCH',
    'uda': 'baselines.one_place.fixmatch:UDA_SYSTEM',
    'remixmatch': 'baselines.one_place.remixmatch:REMIXMATCH',
    'fixmatch': 'baselines.one_place.fixmatch:FIXMATCH',
    # The systems of Zhang et al.
    'consistency_averaging': (
      'baselines.zhang2020.zhang2020:ConsistencyAveraging'
    ),
    'self_training_averaging': (
      'baselines.zhang2020.zhang2020:SelfTrainingAveraging'
    ),
    'supervised_averaging': 'baselines.zhang2020.zhang2020:SupervisedAveraging',
    # The baselines of Zhang et al.
    'easgd': 'baselines.zhang2020.elastic:EASGD',
    'overlap_sgd': 'baselines.zhang2020.elastic:OverlapSGD',
    'data_sharing': 'algorithms.supervised_fedavg:DataSharing',
  },
)


def load(name: str) -> system.System:
  """Loads a system by name; raises a SettingError if there is none.

  The name is one of `SYSTEMS`, or 'package.module:NAME' of a system, or of a
  system class with defaults for all fields.
  """
  with settings.blame('system', name):
    if isinstance(name, type):
      raise ValueError(
        f'is a class; must be an instance, such as {name.__qualname__}()'
      )
    # A recorded name may have been edited to another type.
    if isinstance(name, str):
      if name in SYSTEMS:
        return SYSTEMS[name]
      if ':' in name:
        return settings.outside(system.System)(name)
    raise ValueError(
      f'{settings.did_you_mean(name, SYSTEMS)}must be one of'
      f' {", ".join(SYSTEMS)}, or package.module:NAME'
    )


def find_name(wanted: system.System) -> str:
  """A name by which `load` finds a system, or else the name of its class.

  A system outside `SYSTEMS` is searched in the modules of its parts.
  """
  values = settings.as_dict(wanted)
  for name, each in SYSTEMS.items():
    # Systems with user-defined choices reject other names.
    with contextlib.suppress(ValueError):
      if settings.change_present(each, values) == wanted:
        return name
  for kind in map(type, settings.parts_of(wanted)):
    if found := references.find_variable(wanted, kind):
      return found
  return settings.qualified_name(type(wanted))
