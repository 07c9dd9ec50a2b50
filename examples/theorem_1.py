# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Theorem 1 of SemiFL: strong views of sure images teach the unsure ones.

A first estimate labels images; a kernel classifier is trained on strong views
of those that it is sure of (SemiFL, appendix D.3, steps 1 to 3). The theorem
bounds its risk by a power of the number of unlabeled images. Here is a problem
of which all constants are known, and in which the risk falls as the bound does:

  python examples/theorem_1.py

An image is a number from 0 to 1, and m the probability that its class is 1:

- m crosses 1/2 at an angle, so that alpha is 1 (A4), and its slope is bounded,
  so that q is 1 (A5). The angle differs on both sides: else a kernel has no
  bias there, and the risk falls faster than the bound.
- Labeled and test images are uniform, d is 1.
- Of unlabeled images a share of (2 delta)^s is as near as delta to a
  probability of 0 or 1 (A1): the larger s, the fewer are sure.
- A strong view can be anywhere, however sure its image is, so v is 0 (A3), and
  at each place there are as many views of images of class 1 as m says (A2).
- The first estimate is least squares for lines with known ends, of which the
  error falls with the root of the number of labels (A6).

There are labels, too, ever more of them, but fewer than images. Equation 14 of
SemiFL says for which s they are not enough.
"""

import dataclasses
import pathlib

import matplotlib.pyplot as plt
import numpy as np

# The ends of m's lines; it is 0 before and 1 after. Its slope is 2, but 1/2 to
# the left of where it crosses 1/2.
_PLACES = np.array([0.1, 0.3, 0.5, 0.75])
_PROBABILITIES = np.array([0.0, 0.4, 0.5, 1.0])
_GRID = np.linspace(0, 1, 20_001)
_ALPHA, _Q, _V, _D = 1, 1, 0, 1
# Of n images that many have a label: n^zeta.
_ZETA = 0.8
# So narrow that a kernel near 1/2 stays on the two lines that meet there.
_KERNEL_SCALE = 0.7


def probability(x: np.ndarray) -> np.ndarray:
  """Returns m, the probability of class 1 at each place."""
  return np.interp(x, _PLACES, _PROBABILITIES)


def exponent(s: float) -> float:
  """Returns the power of 1 / n_u in the bound of the risk (equation 13)."""
  return _Q * (_ALPHA + 1) / (_Q * (_ALPHA + 3 + _V + s) + _D)


def exponent_of_labels() -> float:
  """Returns the power of 1 / n_u in the risk of n_u^zeta labels alone."""
  return _ZETA * _Q * (_ALPHA + 1) / (_Q * (_ALPHA + 3) + _D)


@dataclasses.dataclass(frozen=True)
class KernelClassifier:
  """Class 1 where most of the data within a bandwidth are (equation 10).

  Attributes:
    x: float64 [data], places in order.
    ones_before: int64 [data + 1], how many of the first data are of class 1.
    bandwidth: Half the width of the box kernel.
  """

  x: np.ndarray
  ones_before: np.ndarray
  bandwidth: float

  def estimate(self, x: np.ndarray) -> np.ndarray:
    """Returns the share of class 1 around each place; 0 without any data."""
    first = np.searchsorted(self.x, x - self.bandwidth, 'left')
    last = np.searchsorted(self.x, x + self.bandwidth, 'right')
    ones = self.ones_before[last] - self.ones_before[first]
    return ones / np.maximum(last - first, 1)

  def risk(self) -> float:
    """Returns the excess over the least probability of an error, exactly."""
    truth = probability(_GRID)
    is_wrong = (self.estimate(_GRID) > 0.5) != (truth > 0.5)
    return float(np.mean(np.abs(2 * truth - 1) * is_wrong))


def train(x: np.ndarray, y: np.ndarray, bandwidth: float) -> KernelClassifier:
  """Returns the classifier of some data.

  Args:
    x: float64 [data], places.
    y: [data], their classes, 0 or 1.
    bandwidth: Half the width of the kernel.
  """
  order = np.argsort(x)
  ones_before = np.concatenate([[0], np.cumsum(y[order])])
  return KernelClassifier(x[order], ones_before, bandwidth)


def draw_labeled(
  number: int, generator: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
  """Returns uniform places and their classes."""
  x = generator.uniform(size=number)
  return x, (generator.uniform(size=number) < probability(x)).astype(int)


def draw_unlabeled(
  number: int, s: float, generator: np.random.Generator
) -> np.ndarray:
  """Returns places of unlabeled images; the larger `s`, the fewer are sure."""
  least = generator.uniform(size=number) ** (1 / s) / 2
  is_one = generator.uniform(size=number) < np.mean(probability(_GRID))
  return np.interp(np.where(is_one, 1 - least, least), _PROBABILITIES, _PLACES)


def augment_strongly(
  is_one: np.ndarray, generator: np.random.Generator
) -> np.ndarray:
  """Returns strong views: anywhere, as often as there are such images."""
  views = np.empty(len(is_one))
  for side in (False, True):
    density = probability(_GRID) if side else 1 - probability(_GRID)
    below = np.cumsum(density)
    chosen = is_one == side
    views[chosen] = np.interp(
      generator.uniform(size=np.sum(chosen)), below / below[-1], _GRID
    )
  return views


def fit_lines(x: np.ndarray, y: np.ndarray) -> np.ndarray:
  """Returns the probabilities at the ends of lines, by least squares."""
  shares = np.stack(
    [np.interp(x, _PLACES, row) for row in np.eye(len(_PLACES))], axis=1
  )
  return np.linalg.lstsq(shares, y, rcond=None)[0]


def measure(
  num_images: int, s: float, generator: np.random.Generator
) -> tuple[float, float]:
  """Returns the risk of labels alone, and of training on strong views.

  Bandwidths and threshold are those of the theorem's proof.

  Args:
    num_images: The number of unlabeled images, n_u.
    s: How scarce sure images are (A1).
    generator: Draws all images.
  """
  x, y = draw_labeled(int(num_images**_ZETA), generator)
  reach = num_images ** (-exponent_of_labels() / (_ALPHA + 1))
  alone = train(x, y, _KERNEL_SCALE * reach ** (1 / _Q))

  threshold = num_images ** (-exponent(s) / (_ALPHA + 1))
  unlabeled = draw_unlabeled(num_images, s, generator)
  estimate = np.interp(unlabeled, _PLACES, fit_lines(x, y))
  # Step 1: sure images.
  is_sure = np.minimum(estimate, 1 - estimate) <= threshold
  # Step 2: their pseudo-labels and strong views.
  pseudo_labels = (estimate > 0.5)[is_sure]
  views = augment_strongly(pseudo_labels, generator)
  # Step 3: the classifier of labels and views.
  classifier = train(
    np.concatenate([x, views]),
    np.concatenate([y, pseudo_labels]),
    _KERNEL_SCALE * threshold ** (1 / _Q),
  )
  return alone.risk(), classifier.risk()


def main(
  sizes: tuple[int, ...] = (3000, 10_000, 30_000, 100_000, 300_000, 1_000_000),
  num_runs: int = 16,
  output_dir: str = 'results',
) -> dict[str, tuple[float, float]]:
  """Draws the risks, and returns each slope with the predicted one.

  Args:
    sizes: Numbers of unlabeled images.
    num_runs: Runs that risks are means of.
    output_dir: Folder for the picture, `theorem_1.svg`.
  """
  scarcities = (0.5, 2.0)
  # Risks by s, then by size: of labels alone, and of both.
  risks = np.array(
    [
      [
        np.mean(
          [
            measure(size, s, np.random.default_rng([run, size]))
            for run in range(num_runs)
          ],
          axis=0,
        )
        for size in sizes
      ]
      for s in scarcities
    ]
  )
  curves = {'labels alone': (risks[0, :, 0], exponent_of_labels())}
  for s, row in zip(scarcities, risks, strict=True):
    curves[f's = {s:g}'] = (row[:, 1], exponent(s))

  figure, axes = plt.subplots(figsize=(6, 4), layout='constrained')
  slopes = {}
  for color, (name, (found, power)) in zip(
    ('gray', 'C0', 'C1'), curves.items(), strict=True
  ):
    slope, height = np.polyfit(np.log(sizes), np.log(found), 1)
    slopes[name] = (float(slope), -power)
    print(f'{name}: slope {slope:.3f}, predicted {-power:.3f}')
    axes.loglog(sizes, found, 'o', color=color)
    middle = np.exp(np.mean(np.log(sizes)))
    line = (
      np.exp(height)
      * middle ** (slope + power)
      * np.power(sizes, -power, dtype=float)
    )
    axes.loglog(
      sizes, line, color=color, label=f'{name}: predicted slope {-power:.2f}'
    )
  axes.set(xlabel='unlabeled images', ylabel='risk')
  axes.legend()
  path = pathlib.Path(output_dir) / 'theorem_1.svg'
  path.parent.mkdir(parents=True, exist_ok=True)
  figure.savefig(path, metadata={'Date': None})
  plt.close(figure)
  print(path)
  return slopes


if __name__ == '__main__':
  main()
