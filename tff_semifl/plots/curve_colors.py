# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Colors of curves, as different from each other as possible.

Each color after the first six is the farthest from all before it, as in Glasbey
et al., "Colour displays for categorical images" (2007).
"""

from matplotlib import colors
import numpy as np

# The palette of Okabe and Ito, for any color vision.
_FIRST = ('#0072b2', '#d55e00', '#009e73', '#cc79a7', '#e69f00', '#56b4e9')
# Candidates have these levels of red, green and blue, and a lightness L* that
# is visible on white and not black.
_NUM_LEVELS = 9
_LIGHTNESS = (20, 85)
# From linear sRGB to XYZ relative to its white point.
_TO_XYZ = np.array(
  [
    [0.4339, 0.3762, 0.1899],
    [0.2126, 0.7152, 0.0722],
    [0.0178, 0.1095, 0.8727],
  ]
)


def choose(number: int) -> list[str]:
  """The first `number` colors, up to some hundreds, as '#rrggbb'."""
  levels = np.linspace(0, 1, _NUM_LEVELS)
  others = np.stack(np.meshgrid(levels, levels, levels), axis=-1).reshape(-1, 3)
  lightness = _to_lab(others)[:, 0]
  least, most = _LIGHTNESS
  others = others[(lightness >= least) & (lightness <= most)]
  places = _to_lab(others)
  chosen = list(_FIRST)
  distances = np.min([_distances(places, color) for color in chosen], axis=0)
  while len(chosen) < number:
    chosen.append(colors.to_hex(others[distances.argmax()]))
    distances = np.minimum(distances, _distances(places, chosen[-1]))
  return chosen[:number]


def _distances(places: np.ndarray, color: str) -> np.ndarray:
  """The distances of a color from others in CIELAB, float64 [colors]."""
  return np.linalg.norm(
    places - _to_lab(np.array(colors.to_rgb(color))), axis=1
  )


def _to_lab(rgb: np.ndarray) -> np.ndarray:
  """Converts sRGB colors, [..., 3] in 0..1, to CIELAB's L*, a* and b*."""
  linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
  xyz = linear @ _TO_XYZ.T
  x, y, z = np.moveaxis(
    np.where(xyz > (6 / 29) ** 3, np.cbrt(xyz), xyz * 841 / 108 + 4 / 29), -1, 0
  )
  return np.stack([116 * y - 16, 500 * (x - y), 200 * (y - z)], axis=-1)
