# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The entries of a sweep, each of which is trained with all its seeds."""

from typing import NamedTuple


class PaperAccuracy(NamedTuple):
  """A cell of a paper's table.

  Attributes:
    text: As it is written there.
    mean: The best test accuracy of all rounds, averaged over seeds (D16).
    deviation: Its population standard deviation; None if there is none.
  """

  text: str
  mean: float
  deviation: float | None


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
  paper: PaperAccuracy | None
