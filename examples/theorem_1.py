# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Compares Theorem 1 of SemiFL with measured risks.

  python examples/theorem_1.py

A first classifier labels images. Then a kernel classifier is trained on strong
augmentations of the confident images (SemiFL, appendix D.3, steps 1 to 3). The
theorem bounds the risk by a power of the number of unlabeled images. Here all
constants are known, and the risk falls as the bound does (docs/theorem_1.md).

An image is a number x in 0..1, of class 1 with probability m(x); the dimension
d is 1. The theorem's assumptions and other constants are:

- A1: For a fraction (2 delta)^s of unlabeled images, m is within delta of 0 or
  1: the larger s, the fewer images are confident.
- A2, A3: The larger v, the fewer augmented images are near a test image. As a
  strongly augmented image can be anywhere, v is 0. At each x, a fraction m(x)
  of augmented images is of class 1.
- A4: The larger alpha, the fewer test images have m near 1/2. As m crosses 1/2
  with a positive slope, alpha is 1.
- A5: |m(x) - m(x')| is at most a constant times |x - x'|^q. As slopes are
  bounded, q is 1. The slopes around the crossing differ: with equal slopes,
  a kernel would have no bias there, and the risk would fall faster.
- A6: The first classifier fits piecewise linear probabilities by least squares;
  the error falls as one over the square root of the number of labels.

Labeled and test images are uniform. Labels grow more slowly in number than
images: unlabeled images then help only if s is small (SemiFL, equation 14).
"""

import dataclasses
import pathlib

import matplotlib.pyplot as plt
import numpy as np

# The ends of m's line segments. m is 0 before the first end and 1 after the
# last. The slope is 2, and 1/2 in the segment before m crosses 1/2.
_PLACES = np.array([0.1, 0.3, 0.5, 0.75])
_PROBABILITIES = np.array([0.0, 0.4, 0.5, 1.0])
_GRID = np.linspace(0, 1, 20_001)
_ALPHA, _Q, _V, _D = 1, 1, 0, 1
# With n unlabeled images there are n^zeta labels.
_ZETA = 0.8
# The scale of bandwidths: at the crossing of 1/2, a kernel must cover only the
# two adjacent segments.
_KERNEL_SCALE = 0.7


def probability(x: np.ndarray) -> np.ndarray:
  """m(x), the probability of class 1."""
  return np.interp(x, _PLACES, _PROBABILITIES)


def exponent(s: float) -> float:
  """With n unlabeled images, the bound falls as n^-exponent (equation 13)."""
  return _Q * (_ALPHA + 1) / (_Q * (_ALPHA + 3 + _V + s) + _D)


def exponent_of_labels() -> float:
  """The risk of training on n^zeta labels alone falls as n^-exponent."""
  return _ZETA * _Q * (_ALPHA + 1) / (_Q * (_ALPHA + 3) + _D)


@dataclasses.dataclass(frozen=True)
class KernelClassifier:
  """A box kernel classifier (SemiFL, equation 10).

  Attributes:
    x: float64 [data], sorted.
    ones_before: int64 [data + 1], the number of data of class 1 before each
      index.
    bandwidth: Half the width of the box kernel.
  """

  x: np.ndarray
  ones_before: np.ndarray
  bandwidth: float

  def estimate(self, x: np.ndarray) -> np.ndarray:
    """The fraction of class 1 within the bandwidth of x; 0 without data."""
    first = np.searchsorted(self.x, x - self.bandwidth, 'left')
    last = np.searchsorted(self.x, x + self.bandwidth, 'right')
    ones = self.ones_before[last] - self.ones_before[first]
    return ones / np.maximum(last - first, 1)

  def risk(self) -> float:
    """The excess risk over the Bayes classifier."""
    truth = probability(_GRID)
    is_wrong = (self.estimate(_GRID) > 0.5) != (truth > 0.5)
    return float(np.mean(np.abs(2 * truth - 1) * is_wrong))


def train(x: np.ndarray, y: np.ndarray, bandwidth: float) -> KernelClassifier:
  """Trains a classifier of data x [data] with classes y [data], 0 or 1."""
  order = np.argsort(x)
  ones_before = np.concatenate([[0], np.cumsum(y[order])])
  return KernelClassifier(x[order], ones_before, bandwidth)


def draw_labeled(
  number: int, generator: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
  """Draws uniform images x and their classes."""
  x = generator.uniform(size=number)
  return x, (generator.uniform(size=number) < probability(x)).astype(int)


def draw_unlabeled(
  number: int, s: float, generator: np.random.Generator
) -> np.ndarray:
  """Draws unlabeled images x; the larger `s`, the fewer are confident."""
  least = generator.uniform(size=number) ** (1 / s) / 2
  is_one = generator.uniform(size=number) < np.mean(probability(_GRID))
  return np.interp(np.where(is_one, 1 - least, least), _PROBABILITIES, _PLACES)


def augment_strongly(
  is_one: np.ndarray, generator: np.random.Generator
) -> np.ndarray:
  """Draws an image of each given class: density m if `is_one`, else 1 - m."""
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
  """Fits m at the ends of its segments by least squares, float64 [ends]."""
  shares = np.stack(
    [np.interp(x, _PLACES, row) for row in np.eye(len(_PLACES))], axis=1
  )
  return np.linalg.lstsq(shares, y, rcond=None)[0]


def measure(
  num_images: int, s: float, generator: np.random.Generator
) -> tuple[float, float]:
  """The risks of training on labels alone, and of also using augmented images.

  Bandwidths and threshold are as in the theorem's proof.

  Args:
    num_images: The number of unlabeled images, n_u.
    s: The exponent of confident images (A1).
    generator: The random generator of all images.
  """
  x, y = draw_labeled(int(num_images**_ZETA), generator)
  reach = num_images ** (-exponent_of_labels() / (_ALPHA + 1))
  alone = train(x, y, _KERNEL_SCALE * reach ** (1 / _Q))

  threshold = num_images ** (-exponent(s) / (_ALPHA + 1))
  unlabeled = draw_unlabeled(num_images, s, generator)
  estimate = np.interp(unlabeled, _PLACES, fit_lines(x, y))
  # Step 1: confident images.
  is_sure = np.minimum(estimate, 1 - estimate) <= threshold
  # Step 2: pseudo-labels and strong augmentation of confident images.
  pseudo_labels = (estimate > 0.5)[is_sure]
  views = augment_strongly(pseudo_labels, generator)
  # Step 3: a classifier of labeled and augmented images.
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
  """Plots the risks, and returns measured and predicted slopes.

  Args:
    sizes: Numbers of unlabeled images.
    num_runs: The number of runs over which risks are averaged.
    output_dir: Folder for the figure, `theorem_1.svg`.
  """
  scarcities = (0.5, 2.0)
  # Float64 [s, size, 2]: with labels alone, and with augmented images.
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
