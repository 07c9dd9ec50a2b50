# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Trains with federated SGD of FixMatch, the extra curve of SemiFL's Figure 2.

A round is one step of one model, on a batch of the server and one of each
client. Steps are many and short: --rounds_per_evaluation says how often the
model is looked at.

  python -m launch.train_fedsgd_fixmatch --task=digits --total_rounds=300 \
    --rounds_per_evaluation=20

What it would do, without doing it: add --dry_run. Results are in
`<output_dir>/<experiment_name>`; the same command resumes an interrupted run.
"""

from launch import program
from launch import systems
from launch import train

systems.FEDSGD_FIXMATCH.adopt_flags()


def main() -> None:
  """Runs the program, after flags were parsed."""
  train.train(systems.FEDSGD_FIXMATCH)


if __name__ == '__main__':
  program.run(main)
