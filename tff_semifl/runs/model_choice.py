# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Model selection by a metric, and early stopping."""

from collections.abc import Mapping
import dataclasses
import math
from typing import NamedTuple


class Best(NamedTuple):
  """The best evaluated round, which a checkpoint holds.

  Attributes:
    value: The metric after this round; NaN if it was NaN in all rounds.
    round_num: The first round with this value; -1 if there is none.
    num_since: Evaluations since this round, or since the beginning.
  """

  value: float = math.nan
  round_num: int = -1
  num_since: int = 0


@dataclasses.dataclass(frozen=True, kw_only=True)
class ModelChoice:
  """The metric that selects a model, and the patience of early stopping.

  Attributes:
    column: The metric's column in `metrics.csv`.
    higher_is_better: Whether a higher value is better.
    stop_after: Training ends after this many evaluations without improvement;
      None for never.
  """

  column: str
  higher_is_better: bool
  stop_after: int | None = None

  def update(
    self, best: Best, round_num: int, columns: Mapping[str, float]
  ) -> Best:
    """The best round after a further one; the first of equal ones."""
    value = columns[self.column]
    is_better = (
      value > best.value if self.higher_is_better else (value < best.value)
    )
    # A comparison with NaN is false.
    if is_better or (math.isnan(best.value) and not math.isnan(value)):
      return Best(value, round_num, 0)
    return best._replace(num_since=best.num_since + 1)

  def is_over(self, best: Best) -> bool:
    """Whether training stops early."""
    return self.stop_after is not None and best.num_since >= self.stop_after
