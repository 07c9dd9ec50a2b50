# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The flag --least_confidence."""

from collections.abc import Sequence

from absl import flags

from tff_semifl.cli import program
from tff_semifl.export import exported_model

_LEAST_CONFIDENCE = flags.DEFINE_float(
  'least_confidence',
  None,
  'Least probability of the most probable class for an image to be given it;'
  f' below, the class is {exported_model.UNKNOWN}. launch.export_saved_model:'
  ' the value of the exported model, by default 0. launch.predict: by default'
  ' the value of the model. launch.evaluate shows how many test images and'
  ' noise images such thresholds leave, and how many of the test images are'
  ' right.',
  lower_bound=0.0,
  upper_bound=1.0,
)


def check(class_names: Sequence[str]) -> float | None:
  """The checked value of --least_confidence; None if not given."""
  with program.blame(_LEAST_CONFIDENCE, ValueError):
    if _LEAST_CONFIDENCE.value is not None:
      exported_model.check_least_confidence(
        class_names, _LEAST_CONFIDENCE.value
      )
  return _LEAST_CONFIDENCE.value
