# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Trains with FedMatch, labels at the server, as its own authors have it.

Server and clients train different parts of each kernel, and clients label with
the models of others, too (Jeong et al., ICLR 2021).

  python -m launch.train_fedmatch --task=digits

What it would do, without doing it: add --dry_run. Results are in
`<output_dir>/<experiment_name>`; the same command resumes an interrupted run.
"""

from launch import program
from launch import systems
from launch import train

systems.FEDMATCH.adopt_flags()


def main() -> None:
  """Runs the program, after flags were parsed."""
  train.train(systems.FEDMATCH)


if __name__ == '__main__':
  systems.FEDMATCH.set_defaults()
  program.run(main)
