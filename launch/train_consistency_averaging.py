# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Trains the benchmark's own system: consistency, averaged in groups or not.

Zhang et al., "Benchmarking semi-supervised federated learning": server and
clients take a few steps between two averages, of which the server is a member.
Rounds are short, and evaluated every 64 (--rounds_per_evaluation).

  python -m launch.train_consistency_averaging --task=digits

What it would do, without doing it: add --dry_run. Results are in
`<output_dir>/<experiment_name>`; the same command resumes an interrupted run.
"""

from launch import program
from launch import systems
from launch import train

systems.CONSISTENCY_AVERAGING.adopt_flags()


def main() -> None:
  """Runs the program, after flags were parsed."""
  train.train(systems.CONSISTENCY_AVERAGING)


if __name__ == '__main__':
  systems.CONSISTENCY_AVERAGING.set_defaults()
  program.run(main)
