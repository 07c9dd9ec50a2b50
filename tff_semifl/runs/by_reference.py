# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Training programs that pass images by reference."""

import dataclasses

import tensorflow_federated as tff

from tff_semifl.core import federated_process
from tff_semifl.data import mapped_images
from tff_semifl.runs import training_program


def take_indices(
  program: training_program.TrainingProgram, images: mapped_images.MappedImages
) -> training_program.TrainingProgram:
  """A program whose computations take indices and look up images.

  Args:
    program: The program, whose data have indices in place of images, from
      `MappedImages.references`.
    images: The images that the indices refer to.
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
      process.initialize,
      convert(process.next),
      process.initialize_memory,
      process.prepare and convert(process.prepare),
    ),
    evaluation=convert(program.evaluation),
    statistics=convert_pass(program.statistics),
    final_test=convert_pass(program.final_test),
    mapped_images=images,
  )
