# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The kernels of a step in a program of XLA, read from its text.

Each instruction that computes is a kernel: a fusion, a convolution, a product
of matrices, a copy, and the like. What a fusion has inside is not counted.
"""

import collections
from collections.abc import Mapping, Sequence
import math
import re
from typing import NamedTuple

# They name what is there already, or lead to other instructions.
_NO_KERNELS = frozenset(
  """
  add-dependency after-all bitcast call conditional constant get-tuple-element
  parameter tuple while
  """.split()
)
_BYTES = {'pred': 1, 'bf16': 2}


class StepProgram(NamedTuple):
  """The kernels of a step, and their work.

  Attributes:
    kernels: The number of kernels, by instruction.
    num_bytes: Bytes that they read and write.
    num_flops: Floating point operations of convolutions and of products of
      matrices: a multiplication and an addition each, and those of padding.
  """

  kernels: collections.Counter[str]
  num_bytes: int
  num_flops: int

  def __add__(self, other: 'StepProgram') -> 'StepProgram':
    return StepProgram(*(a + b for a, b in zip(self, other, strict=True)))


class _Instruction(NamedTuple):
  shape: str
  opcode: str
  operands: Sequence[str]
  attributes: str


_Computations = Mapping[str, Mapping[str, _Instruction]]
_NOTHING = StepProgram(collections.Counter(), 0, 0)


def count(hlo: str) -> StepProgram:
  """Counts what the loop of training steps does in one of them.

  It is the loop with the most floating point operations in an iteration: the
  passes of the model forward and back. A loop within it, such as that which
  draws from a Beta distribution, counts as many iterations as XLA knows that it
  has, or one.

  Args:
    hlo: The optimized program of a client's turn, as XLA writes it.

  Raises:
    ValueError: If no loop has a convolution or a product of matrices.
  """
  computations = _parse(hlo)
  loops = {
    _called('body', each)
    for instructions in computations.values()
    for each in instructions.values()
    if each.opcode == 'while'
  }
  innermost = [
    _count(computations, name)
    for name in loops
    if not any(
      each.opcode == 'while' and _computes_much(computations, each)
      for each in computations[name].values()
    )
  ]
  steps = max(innermost, key=lambda step: step.num_flops, default=_NOTHING)
  if not steps.num_flops:
    raise ValueError('The program has no loop that trains a model.')
  return steps


def _computes_much(computations: _Computations, loop: _Instruction) -> bool:
  return _count(computations, _called('body', loop)).num_flops > 0


def _parse(hlo: str) -> _Computations:
  """Returns the instructions of each computation by their names."""
  computations, current = {}, None
  for line in hlo.splitlines():
    if heading := re.match(r'(?:ENTRY )?%([^ ]+) \(.*\{$', line):
      current = computations.setdefault(heading[1], {})
    elif found := re.match(
      r'  (?:ROOT )?%([^ ]+) = (.*?) ([a-z][a-z0-9-]*)\((.*)', line
    ):
      operands, attributes = _split_at_end_of_operands(found[4])
      current[found[1]] = _Instruction(
        found[2], found[3], re.findall(r'%([^ ,()]+)', operands), attributes
      )
  return computations


def _split_at_end_of_operands(text: str) -> tuple[str, str]:
  depth = 1
  for index, character in enumerate(text):
    depth += (character == '(') - (character == ')')
    if not depth:
      return text[:index], text[index:]
  raise ValueError(f'No end of operands: {text}')


def _called(role: str, instruction: _Instruction) -> str:
  return re.search(rf'{role}=%([^ ,]+)', instruction.attributes)[1]


def _count(computations: _Computations, name: str) -> StepProgram:
  """Counts a computation with all that it calls."""
  total = _NOTHING
  instructions = computations[name]
  for each in instructions.values():
    if each.opcode == 'call':
      total += _count(computations, _called('to_apply', each))
    elif each.opcode == 'while':
      known = re.search(r'known_trip_count":\{"n":"(\d+)"', each.attributes)
      for _ in range(int(known[1]) if known else 1):
        total += _count(computations, _called('body', each))
        total += _count(computations, _called('condition', each))
    elif each.opcode == 'conditional':
      branches = re.findall(r'%([^ ,{}]+)', each.attributes)
      total += max(
        (_count(computations, b) for b in branches if b in computations),
        key=lambda branch: branch.kernels.total(),
      )
    elif each.opcode not in _NO_KERNELS:
      operands = [instructions[operand].shape for operand in each.operands]
      total += StepProgram(
        collections.Counter([each.opcode]),
        _num_bytes(each.shape) + sum(map(_num_bytes, operands)),
        _num_flops(each, operands),
      )
  return total


def _arrays(shape: str) -> list[tuple[str, list[int]]]:
  """Returns types and dimensions of 'f32[10,3]{1,0}', or of all in a tuple."""
  return [
    (dtype, [int(size) for size in sizes.split(',') if size])
    for dtype, sizes in re.findall(r'([a-z]+\d*)\[([\d,]*)\]', shape)
  ]


def _num_bytes(shape: str) -> int:
  return sum(
    math.prod(sizes) * (_BYTES.get(dtype) or int(dtype[1:]) // 8)
    for dtype, sizes in _arrays(shape)
  )


def _num_flops(each: _Instruction, operands: Sequence[str]) -> int:
  if each.opcode not in ('convolution', 'dot'):
    return 0
  [(_, result)] = _arrays(each.shape)
  [(_, left)] = _arrays(operands[0])
  if each.opcode == 'dot':
    axes = re.search(r'lhs_contracting_dims=\{([\d,]*)\}', each.attributes)[1]
    contracted = math.prod(left[int(axis)] for axis in axes.split(','))
    return 2 * math.prod(result) * contracted
  [(_, kernel)] = _arrays(operands[1])
  of_kernel = re.search(r'dim_labels=\w+_(\w+)->', each.attributes)[1]
  taps = math.prod(
    size for size, label in zip(kernel, of_kernel, strict=True) if label != 'o'
  )
  # Between the rows and columns of a dilated input there are zeros, which no
  # good kernel multiplies.
  dilation = re.search(r'lhs_dilate=([\dx]+)', each.attributes)
  zeros = math.prod(map(int, dilation[1].split('x'))) if dilation else 1
  return 2 * math.prod(result) * taps // zeros
