# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Trains what SemiFL's Table 1 calls FedRGD.

As launch.train_fedavg_fixmatch, but averaged in two groups, the server in both;
one model is sent to all (D38).

  python -m launch.train_fedrgd_as_in_semifl --task=digits

What it would do, without doing it: add --dry_run. Results are in
`<output_dir>/<experiment_name>`; the same command resumes an interrupted run.
"""

from launch import program
from launch import systems
from launch import train

systems.FEDRGD_AS_IN_SEMIFL.adopt_flags()


def main() -> None:
  """Runs the program, after flags were parsed."""
  train.train(systems.FEDRGD_AS_IN_SEMIFL)


if __name__ == '__main__':
  program.run(main)
