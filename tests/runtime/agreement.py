# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Runs computations on both local runtimes and compares results.

The C++ runtime is TFF's own, and defines the right results.
"""

from collections.abc import Mapping, Sequence
import contextlib
from typing import Any

from absl.testing import parameterized
import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

from tff_semifl import runtime


def to_leaves(value: Any, path: str = '') -> dict[str, Any]:
  """The parts of a result, by path."""
  container = type(value)
  if isinstance(value, tf.data.Dataset):
    container = value.element_spec
    parts = list(enumerate(value.as_numpy_iterator()))
  elif isinstance(value, tff.structure.Struct):
    parts = tff.structure.to_elements(value)
  elif isinstance(value, Mapping):
    parts = list(value.items())
  elif hasattr(value, '_asdict'):
    parts = list(value._asdict().items())
  elif hasattr(value, '__attrs_attrs__'):
    parts = [(a.name, getattr(value, a.name)) for a in value.__attrs_attrs__]
  elif isinstance(value, (list, tuple)):
    parts = list(enumerate(value))
  else:
    return {path: value}
  leaves = {path: (container, [name for name, _ in parts])}
  for index, (name, part) in enumerate(parts):
    leaves |= to_leaves(part, f'{path}/{index if name is None else name}')
  return leaves


class AgreementTestCase(parameterized.TestCase, tf.test.TestCase):
  """Base class of tests that run computations on both runtimes."""

  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.in_process = runtime.InProcessContext()
    cls.addClassCleanup(cls.in_process.close)
    cls.native = tff.framework.get_context_stack().current

  @contextlib.contextmanager
  def use(self, context: tff.framework.SyncContext):
    """Makes a context the default context in the `with` block."""
    former = tff.framework.get_context_stack().current
    tff.framework.set_default_context(context)
    try:
      yield
    finally:
      tff.framework.set_default_context(former)

  def assert_same(
    self, ours: Any, theirs: Any, rtol: float = 1e-5, atol: float = 1e-6
  ) -> None:
    """Asserts that two results have the same containers, types and values."""
    ours, theirs = to_leaves(ours), to_leaves(theirs)
    self.assertEqual(list(ours), list(theirs))
    for path, our in ours.items():
      their = theirs[path]
      self.assertIs(type(our), type(their), path)
      if not isinstance(our, (np.ndarray, np.generic)):
        self.assertEqual(our, their, path)
        continue
      self.assertEqual((our.dtype, our.shape), (their.dtype, their.shape), path)
      if our.dtype.kind in 'fc':
        np.testing.assert_allclose(our, their, rtol, atol, err_msg=path)
      else:
        np.testing.assert_array_equal(our, their, err_msg=path)

  def assert_agree(
    self, computation: tff.Computation, *args: Any, **tolerance: float
  ) -> Any:
    """Runs a computation on both runtimes, and asserts equal results."""
    with self.use(self.in_process):
      ours = computation(*args)
    with self.use(self.native):
      theirs = computation(*args)
    self.assert_same(ours, theirs, **tolerance)
    return ours

  def assert_agree_in_rounds(
    self,
    process: tff.templates.IterativeProcess,
    rounds: Sequence[Any],
    **tolerance: float,
  ) -> list[Any]:
    """Runs a process on both runtimes, and asserts equal results in each round.

    Each round starts from the state that the same runtime has returned.
    """
    outputs = []
    for context in (self.in_process, self.native):
      with self.use(context):
        results = [process.initialize()]
        state = results[0]
        for arguments in rounds:
          output = process.next(state, *arguments)
          results.append(output)
          # A rewritten computation returns a dictionary.
          is_dict = isinstance(output, Mapping)
          state = output['state'] if is_dict else output.state
        outputs.append(results)
    for ours, theirs in zip(*outputs, strict=True):
      self.assert_same(ours, theirs, **tolerance)
    # Outputs that ignore their arguments would agree trivially.
    found = {repr(to_leaves(output)) for output in outputs[0]}
    self.assertEqual(len(found), len(rounds) + 1, 'Two rounds are the same.')
    return outputs[0]
