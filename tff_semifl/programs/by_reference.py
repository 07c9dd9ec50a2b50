# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Training programs that pass images by reference."""

import dataclasses

import tensorflow_federated as tff

from tff_semifl.algorithms import federated_process
from tff_semifl.data import mapped_images
from tff_semifl.programs import training


def take_indices(
  program: training.TrainingProgram, images: mapped_images.MappedImages
) -> training.TrainingProgram:
  """Returns a program whose computations take indices of images.

  It computes the same: the computations read the images, and then are what
  they were.

  Args:
    program: What to train. Its data, made of `MappedImages.references`, have
      indices in the place of images already.
    images: What the indices are of.
  """

  def convert(computation: tff.Computation) -> tff.Computation:
    return mapped_images.take_indices(computation, images)

  def convert_pass(statistics):
    if statistics is None:
      return None
    return statistics._replace(computation=convert(statistics.computation))

  process = program.process
  return dataclasses.replace(
    program,
    process=federated_process.FederatedProcess(
      process.initialize, convert(process.next), process.initialize_memory
    ),
    evaluation=convert(program.evaluation),
    statistics=convert_pass(program.statistics),
    final_test=convert_pass(program.final_test),
    mapped_images=images,
  )
