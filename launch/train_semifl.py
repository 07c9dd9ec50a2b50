# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Trains an image classifier with SemiFL.

Digits, with the flags of the demonstration:

  python -m launch.train_semifl \
    --flagfile=launch/flagfiles/semifl/digits_50_iid.flags

What it would do, without doing it: add --dry_run. Results are in
`<output_dir>/<experiment_name>`; the same command resumes an interrupted run.
How it goes is on standard error, and what came of it on standard output at the
end; with --verbosity=-1 the former has nothing but warnings and errors, with
--verbosity=-2 errors. To see more of it:

  tensorboard --logdir=results
"""

from launch import program
from launch import systems
from launch import train

systems.SEMIFL.adopt_flags()


def main() -> None:
  """Runs the program, after flags were parsed."""
  train.train(systems.SEMIFL)


if __name__ == '__main__':
  program.run(main)
