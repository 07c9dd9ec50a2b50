# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The systems by name."""

import contextlib
import sys

from tff_semifl import settings
from tff_semifl.baselines.fedmatch import fedmatch
from tff_semifl.baselines.fedsgd import as_in_semifl
from tff_semifl.baselines.fedsgd import fedsgd
from tff_semifl.baselines.one_place import centralized
from tff_semifl.baselines.one_place import fixmatch
from tff_semifl.baselines.one_place import mean_teacher
from tff_semifl.baselines.one_place import mixmatch
from tff_semifl.baselines.one_place import pi_model
from tff_semifl.baselines.one_place import pooled
from tff_semifl.baselines.one_place import pseudo_labeling
from tff_semifl.baselines.one_place import remixmatch
from tff_semifl.baselines.one_place import uda
from tff_semifl.baselines.zhang2020 import elastic
from tff_semifl.baselines.zhang2020 import zhang2020
from tff_semifl.methods import client_prior_semifl
from tff_semifl.methods import client_prior_sgd
from tff_semifl.methods import composed
from tff_semifl.methods import data_sharing
from tff_semifl.methods import fix_mix
from tff_semifl.methods import flexmatch
from tff_semifl.methods import flfl
from tff_semifl.methods import label_each_batch
from tff_semifl.methods import supervised_fedavg
from tff_semifl.methods.client_priors import client_priors
from tff_semifl.settings import references
from tff_semifl.systems import averaging
from tff_semifl.systems import system

SYSTEMS = {
  'semifl': averaging.Alternating(client=fix_mix.FixMix()),
  # The ablations and other rows of SemiFL's tables.
  'batch_label_semifl': averaging.Alternating(
    client=label_each_batch.LabelEachBatch()
  ),
  'parallel_semifl': averaging.Parallel(client=fix_mix.Fix()),
  'fedavg_fixmatch': averaging.Parallel(
    client=label_each_batch.LabelEachBatch()
  ),
  'fedrgd_as_in_semifl': averaging.ParallelInTwoGroups(
    client=label_each_batch.LabelEachBatch()
  ),
  'fedmatch_as_in_semifl': fedmatch.FedMatchAsInSemiFL(),
  'fedsgd_fixmatch': fedsgd.FedSGD(),
  'fedsgd_fixmatch_as_in_semifl': as_in_semifl.FedSGDAsInSemiFL(),
  'supervised_fedavg': supervised_fedavg.Supervised(),
  'labels_alone': centralized.LabelsAlone(),
  'all_labels': centralized.AllLabels(),
  'fedmatch': fedmatch.FedMatch(),
  'flfl': flfl.FLFL,
  # SemiFL with one part of a later method, or with any parts.
  'flexmatch_semifl': averaging.Alternating(
    client=fix_mix.FixMix(selection=flexmatch.FlexMatch())
  ),
  'composed_semifl': averaging.Alternating(client=composed.ComposedFixMix()),
  'client_prior_semifl': averaging.Alternating(
    client=client_prior_semifl.ClientPriorFixMix()
  ),
  'client_prior_sgd': client_prior_sgd.ClientPriorSGD(),
  'true_prior_semifl': client_prior_semifl.TruePriorSemiFL(),
  # A linear classifier on features or pixels.
  'client_priors': client_priors.ClientPriors(),
  # Centralized training on labels and a pool of unlabeled images.
  'pi_model': pooled.Pooled(method=pi_model.PiModel()),
  'pseudo_labeling': pooled.Pooled(method=pseudo_labeling.PseudoLabeling()),
  'mean_teacher': pooled.Pooled(method=mean_teacher.MeanTeacher()),
  'mixmatch': pooled.Pooled(method=mixmatch.MixMatch()),
  'uda': pooled.Pooled(method=uda.UDA(), steps=pooled.Steps(unlabeled_ratio=7)),
  'remixmatch': pooled.Pooled(method=remixmatch.ReMixMatch()),
  'fixmatch': pooled.Pooled(
    method=fixmatch.FixMatch(), steps=pooled.Steps(unlabeled_ratio=7)
  ),
  # The systems of Zhang et al.
  'consistency_averaging': zhang2020.ConsistencyAveraging(),
  'self_training_averaging': zhang2020.SelfTrainingAveraging(),
  'supervised_averaging': zhang2020.SupervisedAveraging(),
  # The baselines of Zhang et al.
  'easgd': elastic.EASGD(),
  'overlap_sgd': elastic.OverlapSGD(),
  'data_sharing': data_sharing.DataSharing(),
}


def load(name: str) -> system.System:
  """The system of a name.

  Args:
    name: One of `SYSTEMS`, or 'package.module:NAME' of a system, or of a class
      of systems whose fields all have defaults.

  Raises:
    settings.SettingError: If there is no such system.
  """
  with settings.blame('system', name):
    if isinstance(name, type):
      raise ValueError(
        f'is a class; must be an instance, such as {name.__qualname__}()'
      )
    # A recorded name may have been edited to any type.
    if isinstance(name, str):
      if name in SYSTEMS:
        return SYSTEMS[name]
      if ':' in name:
        return _load_outside(name)
    raise ValueError(
      f'{settings.did_you_mean(name, SYSTEMS)}must be one of'
      f' {", ".join(SYSTEMS)}, or package.module:NAME'
    )


def find_name(wanted: system.System) -> str:
  """A name by which `load` finds a system, apart from its settings.

  Returns:
    A name in `SYSTEMS`; or 'package.module:NAME' if the module of one of the
    system's parts has the system; or else the name of its class.
  """
  values = settings.as_dict(wanted)
  for name, each in SYSTEMS.items():
    # A system with choices from outside rejects their names.
    with contextlib.suppress(ValueError):
      if settings.change_present(each, values) == wanted:
        return name
  for kind in map(type, settings.parts_of(wanted)):
    module = sys.modules.get(kind.__module__)
    if module is None or references.is_of_program(kind):
      continue
    for name, value in vars(module).items():
      if value is wanted:
        return f'{settings.qualified_name(kind).partition(":")[0]}:{name}'
  return settings.qualified_name(type(wanted))


def _load_outside(name: str) -> system.System:
  found = references.load(name)
  if not (isinstance(found, type) and issubclass(found, system.System)):
    return references.load(name, system.System)
  try:
    return found()
  except TypeError as error:
    raise ValueError(
      f'is a class whose systems are put together in Python: {error}; name one'
      ' that a module has, MY_SYSTEM say'
    ) from error
