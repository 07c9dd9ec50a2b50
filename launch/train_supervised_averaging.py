# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Trains the benchmark's supervised federated learning: clients have labels.

Appendix G of Zhang et al.; the server has some, too.

  python -m launch.train_supervised_averaging --task=digits

What it would do, without doing it: add --dry_run. Results are in
`<output_dir>/<experiment_name>`; the same command resumes an interrupted run.
"""

from launch import program
from launch import systems
from launch import train

systems.SUPERVISED_AVERAGING.adopt_flags()


def main() -> None:
  """Runs the program, after flags were parsed."""
  train.train(systems.SUPERVISED_AVERAGING)


if __name__ == '__main__':
  systems.SUPERVISED_AVERAGING.set_defaults()
  program.run(main)
