# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Example parts for tests of settings: a pizza."""

import dataclasses

from tff_semifl import settings


@dataclasses.dataclass(frozen=True, kw_only=True)
class Oven(settings.Settings):
  """The heat and the time of baking."""

  degrees: float = settings.setting(
    250.0, 'Degrees Celsius.', settings.between(100, 500)
  )
  minutes: int | None = settings.setting(
    None, 'Minutes; as long as it takes by default.', settings.AT_LEAST_1
  )


@dataclasses.dataclass(frozen=True, kw_only=True)
class Cheese(settings.Settings):
  """Cheese on a pizza."""

  grams: float = settings.setting(100.0, 'Grams.', settings.ABOVE_0)
  kind: str = settings.setting(
    'mozzarella', 'Which cheese.', settings.one_of('mozzarella', 'feta')
  )


@dataclasses.dataclass(frozen=True, kw_only=True)
class Vegetables(settings.Settings):
  """Vegetables on a pizza."""

  vegetables: tuple[str, ...] = settings.setting((), 'Which, with commas.')


@dataclasses.dataclass(frozen=True, kw_only=True)
class Pizza(settings.Settings):
  """A whole pizza."""

  name: str
  topping: settings.Settings = settings.choice(
    {'cheese': Cheese(), 'vegetables': Vegetables()},
    'cheese',
    'What is on it.',
    refused={'pineapple': 'it is for cakes'},
  )
  folded: bool = settings.setting(False, 'Whether it is folded.')
  oven: Oven = Oven()

  def __post_init__(self) -> None:
    super().__post_init__()
    if self.folded and self.oven.degrees > 400:
      raise settings.SettingError(
        'folded', True, 'would be raw inside; bake it at 400 degrees at most'
      )
