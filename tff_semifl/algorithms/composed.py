# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""SemiFL's client with parts of later methods, chosen by name.

A part of another package has the name `package.module:NAME`.
"""

import dataclasses

from tff_semifl import settings
from tff_semifl.algorithms import averaging
from tff_semifl.algorithms import client_parts
from tff_semifl.algorithms import fix_mix
from tff_semifl.algorithms import flfl


@dataclasses.dataclass(frozen=True, kw_only=True)
class ComposedFixMix(fix_mix.FixMix):
  """SemiFL's client with parts of later methods, each chosen by name."""

  selection: client_parts.Selection = settings.choice(
    {
      'fixed_threshold': client_parts.FixedThreshold(),
      'class_adaptive': flfl.ClassAdaptiveThresholds(),
    },
    'fixed_threshold',
    'The images to train on. fixed_threshold: those above a confidence;'
    ' class_adaptive of (FL)^2: a threshold for each class, by how often the'
    ' client predicts it.',
    load=settings.outside(client_parts.Selection),
  )
  alignment: client_parts.Alignment | None = settings.choice(
    {'none': None, 'distribution': client_parts.DistributionAlignment()},
    'none',
    'Alignment of predictions: none, or distribution, to equal class shares'
    ' over all clients.',
    load=settings.outside(client_parts.Alignment),
  )
  regularizer: client_parts.Regularizer | None = settings.choice(
    {'none': None, 'sharpness_aware': flfl.SharpnessAwareConsistency()},
    'none',
    'A further loss of clients: none, or sharpness_aware, the consistency of'
    ' (FL)^2.',
    load=settings.outside(client_parts.Regularizer),
  )
  weighting: client_parts.Weighting | None = settings.choice(
    {'equal': None, 'learning_status': flfl.LearningStatus()},
    'equal',
    'Weights of the updates of clients that train: equal, or learning_status of'
    ' (FL)^2, which gives more weight where the model is less confident.',
    load=settings.outside(client_parts.Weighting),
  )


COMPOSED_SEMIFL = averaging.Alternating(client=ComposedFixMix())
