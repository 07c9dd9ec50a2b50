# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Trains clients that have labels, which SemiFL's Table 1 calls HeteroFL.

All training images are the clients', with their labels; the server has none.

  python -m launch.train_supervised_fedavg --task=digits

What it would do, without doing it: add --dry_run. Results are in
`<output_dir>/<experiment_name>`; the same command resumes an interrupted run.
"""

from launch import program
from launch import systems
from launch import train

systems.SUPERVISED_FEDAVG.adopt_flags()


def main() -> None:
  """Runs the program, after flags were parsed."""
  train.train(systems.SUPERVISED_FEDAVG)


if __name__ == '__main__':
  program.run(main)
