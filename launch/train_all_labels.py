# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Trains on all labels in one place, which nothing that has fewer can beat.

"Fully Supervised" in SemiFL's Table 1.

  python -m launch.train_all_labels --task=digits

What it would do, without doing it: add --dry_run. Results are in
`<output_dir>/<experiment_name>`; the same command resumes an interrupted run.
"""

from launch import program
from launch import systems
from launch import train

systems.ALL_LABELS.adopt_flags()


def main() -> None:
  """Runs the program, after flags were parsed."""
  train.train(systems.ALL_LABELS)


if __name__ == '__main__':
  systems.ALL_LABELS.set_defaults()
  program.run(main)
