# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Trains what SemiFL's Table 1 calls FedMatch.

Of FedMatch it has that server and clients train different parts of each kernel
(D40).

  python -m launch.train_fedmatch_as_in_semifl --task=digits

What it would do, without doing it: add --dry_run. Results are in
`<output_dir>/<experiment_name>`; the same command resumes an interrupted run.
"""

from launch import program
from launch import systems
from launch import train

systems.FEDMATCH_AS_IN_SEMIFL.adopt_flags()


def main() -> None:
  """Runs the program, after flags were parsed."""
  train.train(systems.FEDMATCH_AS_IN_SEMIFL)


if __name__ == '__main__':
  systems.FEDMATCH_AS_IN_SEMIFL.set_defaults()
  program.run(main)
