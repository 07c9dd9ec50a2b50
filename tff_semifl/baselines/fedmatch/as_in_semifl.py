# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""FedMatch as in SemiFL's tables: without helpers, in a Wide ResNet."""

import dataclasses
import types

from tff_semifl import settings
from tff_semifl.algorithms import averaging
from tff_semifl.algorithms import fix_mix
from tff_semifl.core import method
from tff_semifl.core import optimizers
from tff_semifl.models import fedmatch_networks
from tff_semifl.models import functional


@dataclasses.dataclass(frozen=True, kw_only=True)
class FedMatchAsInSemiFL(averaging.Alternating):
  """FedMatch as in SemiFL's tables: disjoint learning alone."""

  usual = types.MappingProxyType({'model': 'decomposed_wide_resnet'})
  models = ('decomposed_wide_resnet',)

  client: method.Method = fix_mix.LabelEachBatch()
  reproduce_bugs: bool = settings.setting(
    True,
    "Whether to reproduce two mistakes of the code of SemiFL's authors: half of"
    ' the outputs of each kernel only decay at the server, and no node trains'
    ' normalization and classifier.',
  )

  def create_optimizers(
    self, classifier: functional.ImageClassifier
  ) -> averaging.OptimizerPair:
    """Creates the clients' optimizer, for phi, and the server's, for sigma.

    Gradients are clipped by the norm over all weights. Because sigma and phi
    have equal gradients, clipped steps are shorter than with plain kernels.
    """
    parts = fedmatch_networks.find_parts(classifier.trainable_names)
    of_clients, of_server = super().create_optimizers(classifier)
    if self.reproduce_bugs:
      return (
        optimizers.restrict(of_clients, parts.phi),
        optimizers.restrict(
          of_server, parts.sigma, optimizers.zero_second_half
        ),
      )
    # Client and server both train normalization and classifier, which are
    # averaged like phi.
    return (
      optimizers.restrict(
        of_clients, [not is_sigma for is_sigma in parts.sigma]
      ),
      optimizers.restrict(of_server, [not is_phi for is_phi in parts.phi]),
    )
