# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The entries of a sweep, each of which is trained with all its seeds."""

from typing import NamedTuple

from tff_semifl.experiments import presets


class Entry(NamedTuple):
  """Settings that are trained with each seed, and become a row of the table.

  Attributes:
    name: Its name, different from those of other entries.
    system_name: The system that is trained.
    source: Where its settings come from: a flagfile or a preset.
    paper: What a paper has for it; None if there is nothing.
  """

  name: str
  system_name: str
  source: str
  paper: presets.PaperAccuracy | None
