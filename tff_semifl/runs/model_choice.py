# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The choice of a round's model by a metric, and early stopping."""

from collections.abc import Mapping
import dataclasses
import math
from typing import NamedTuple


class Best(NamedTuple):
  """The best evaluated round so far, which a checkpoint holds.

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
  """The metric by which a model is chosen.

  Attributes:
    column: Its column in `metrics.csv`.
    higher_is_better: Whether a higher value is better.
    stop_after: Training ends after so many evaluations without gain; None for
      never.
  """

  column: str
  higher_is_better: bool
  stop_after: int | None = None

  def update(
    self, best: Best, round_num: int, columns: Mapping[str, float]
  ) -> Best:
    """Returns the best round after a further one; the first of equal ones.

    Args:
      best: The best round before.
      round_num: The round.
      columns: Its metrics by column.
    """
    value = columns[self.column]
    is_better = (
      value > best.value if self.higher_is_better else (value < best.value)
    )
    # A comparison with NaN is false.
    if is_better or (math.isnan(best.value) and not math.isnan(value)):
      return Best(value, round_num, 0)
    return best._replace(num_since=best.num_since + 1)

  def is_over(self, best: Best) -> bool:
    """Whether training ends now.

    Args:
      best: The best round so far.
    """
    return self.stop_after is not None and best.num_since >= self.stop_after
