# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Trains with labels of the global model, but without fine-tuning it.

An ablation of SemiFL (Table 2): clients label their images once, with the model
that they receive, and the server trains at the same time and is averaged with
them.

  python -m launch.train_parallel_semifl --task=digits

What it would do, without doing it: add --dry_run. Results are in
`<output_dir>/<experiment_name>`; the same command resumes an interrupted run.
"""

from launch import program
from launch import systems
from launch import train

systems.PARALLEL_SEMIFL.adopt_flags()


def main() -> None:
  """Runs the program, after flags were parsed."""
  train.train(systems.PARALLEL_SEMIFL)


if __name__ == '__main__':
  program.run(main)
