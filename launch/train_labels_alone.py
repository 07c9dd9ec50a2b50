# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Trains on the server's labels alone, without any client.

"Partially Supervised" in SemiFL's Table 1.

  python -m launch.train_labels_alone --task=digits

What it would do, without doing it: add --dry_run. Results are in
`<output_dir>/<experiment_name>`; the same command resumes an interrupted run.
"""

from launch import program
from launch import systems
from launch import train

systems.LABELS_ALONE.adopt_flags()


def main() -> None:
  """Runs the program, after flags were parsed."""
  train.train(systems.LABELS_ALONE)


if __name__ == '__main__':
  systems.LABELS_ALONE.set_defaults()
  program.run(main)
