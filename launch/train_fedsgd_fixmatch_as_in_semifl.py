# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Trains with federated SGD of FixMatch as SemiFL's authors ran it (D55).

A round is an epoch: as many steps as it takes for each image of each client to
be in one, each on the images of --clients_per_step clients as one batch. They
are in one place for that, which no private system can do; what can be done with
clients that keep their images is `launch.train_fedsgd_fixmatch`.

  python -m launch.train_fedsgd_fixmatch_as_in_semifl --task=digits \
    --num_clients=10 --clients_per_step=5 --total_rounds=20

What it would do, without doing it: add --dry_run. Results are in
`<output_dir>/<experiment_name>`; the same command resumes an interrupted run.
"""

from launch import program
from launch import systems
from launch import train

systems.FEDSGD_FIXMATCH_AS_IN_SEMIFL.adopt_flags()


def main() -> None:
  """Runs the program, after flags were parsed."""
  train.train(systems.FEDSGD_FIXMATCH_AS_IN_SEMIFL)


if __name__ == '__main__':
  program.run(main)
