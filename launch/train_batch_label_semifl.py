# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Trains SemiFL with labels made batch by batch (Table 2 of its paper).

What it is worth that SemiFL's clients label their images once, with the model
that they receive: here each batch is labelled by the model in training.

  python -m launch.train_batch_label_semifl --task=cifar10

Flags, folders and resuming are as with `launch.train_semifl`; nothing is mixed.
"""

from launch import program
from launch import systems
from launch import train

systems.BATCH_LABEL_SEMIFL.adopt_flags()


def main() -> None:
  """Runs the program, after flags were parsed."""
  train.train(systems.BATCH_LABEL_SEMIFL)


if __name__ == '__main__':
  program.run(main)
