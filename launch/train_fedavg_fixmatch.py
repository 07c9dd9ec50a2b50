# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Trains with federated averaging of FixMatch (Table 2 of SemiFL's paper).

Clients label each batch with the model that they train; the server trains at
the same time and is averaged with them.

  python -m launch.train_fedavg_fixmatch --task=digits

What it would do, without doing it: add --dry_run. Results are in
`<output_dir>/<experiment_name>`; the same command resumes an interrupted run.
"""

from launch import program
from launch import systems
from launch import train

systems.FEDAVG_FIXMATCH.adopt_flags()


def main() -> None:
  """Runs the program, after flags were parsed."""
  train.train(systems.FEDAVG_FIXMATCH)


if __name__ == '__main__':
  program.run(main)
