# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Trains the benchmark's baseline: self-training, averaged with the server.

Clients train on the view that they labelled (equation 3 of Zhang et al.).

  python -m launch.train_self_training_averaging --task=digits

What it would do, without doing it: add --dry_run. Results are in
`<output_dir>/<experiment_name>`; the same command resumes an interrupted run.
"""

from launch import program
from launch import systems
from launch import train

systems.SELF_TRAINING_AVERAGING.adopt_flags()


def main() -> None:
  """Runs the program, after flags were parsed."""
  train.train(systems.SELF_TRAINING_AVERAGING)


if __name__ == '__main__':
  systems.SELF_TRAINING_AVERAGING.set_defaults()
  program.run(main)
