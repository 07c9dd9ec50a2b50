# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of the notes on errors of a user's code."""

import pathlib
import re

from absl.testing import absltest
from absl.testing import parameterized
import pytest
import tensorflow as tf
import tensorflow_federated as tff

from tests import forked_programs
from tff_semifl import runtime
from tff_semifl import settings
from tff_semifl.experiments import user_code

_METHOD = """import dataclasses
import tensorflow as tf
import tff_semifl as sfl

@dataclasses.dataclass(frozen=True, kw_only=True)
class Method(sfl.FixMix):
  def select(self, update, labels):
    return helper(labels.confidences)


def helper(confidences):
  {line}


METHOD = sfl.Alternating(client=Method())
"""

# With what is wrong, and the line and the words that say so.
_MISTAKES = (
  (
    'loss_without_a_mean',
    _METHOD.format(line='return confidences > 0.5')
    .replace(
      'METHOD =',
      """class NoMean(Method):
  def loss(self, step, state):
    return step.labels.confidences

METHOD =""",
    )
    .replace(
      'class NoMean', '@dataclasses.dataclass(frozen=True)\nclass NoMean'
    )
    .replace('client=Method()', 'client=NoMean()'),
    'def loss',
    'TypeError: NoMean: loss must return a float32 scalar',
  ),
  (
    'class_in_place_of_an_instance',
    _METHOD.format(line='return confidences > 0.5').replace(
      'client=Method()', 'client=Method'
    ),
    'METHOD = sfl',
    'system=my_method:METHOD: Alternating: client must be an instance',
  ),
)


def _assert_positive(x):
  with tf.control_dependencies([tf.debugging.assert_positive(x)]):
    return tf.identity(x)


def _assert_negative(x):
  with tf.control_dependencies([tf.debugging.assert_negative(x)]):
    return tf.identity(x)


def _build(fn):
  """Returns a TFF computation of a TensorFlow function."""
  return tff.tensorflow.computation(fn, tf.int32)


def _trace_of(fn, *arguments):
  """Returns the error of a function."""
  try:
    fn(*arguments)
  except Exception as error:
    return error
  raise AssertionError('There is none.')


class UserCodeTest(parameterized.TestCase):
  def test_lines_of_users_are_first(self):
    error = _trace_of(lambda: _assert_positive(tf.constant(-1)))
    text = user_code.describe(error)
    self.assertStartsWith(text, f'  File "{__file__}", line ')
    self.assertNotIn('site-packages', text)
    lines = text.splitlines()
    frames = [each for each in lines if each.startswith('  File ')]
    self.assertEndsWith(frames[-1], 'in _assert_positive')
    self.assertTrue(any(each.startswith('InvalidArg') for each in lines))
    # The rest is in the file that is named last.
    path = pathlib.Path(re.search(r'(/\S+)[.]$', lines[-1])[1])
    self.addCleanup(path.unlink)
    self.assertIn('site-packages', path.read_text())

  def test_error_of_a_library_is_none_of_a_user(self):
    error = settings.SettingError('seed', 1, 'is odd')
    self.assertIsNone(user_code.describe(error))

  @parameterized.named_parameters(
    ('in_order', _assert_positive),
    (
      'in_a_loop',
      lambda x: tf.while_loop(
        lambda _: True, lambda x: [_assert_positive(x) - 1], [x]
      )[0],
    ),
  )
  def test_line_that_created_what_failed(self, fn):
    def add_both(x):
      # These operations have the same names, but other lines.
      return fn(x) + 0 * tf.function(_assert_negative)(tf.constant(-1))

    computation = _build(add_both)
    with runtime.simulation_context():
      error = _trace_of(computation, 0)
    self.assertIsInstance(error, runtime.ComputationError)
    user_code.add_definition(error, lambda: _build(add_both))
    (text,) = error.__notes__
    self.assertIn('in _assert_positive\n    with tf.control_dep', text)
    # The second build of the model does not appear.
    self.assertNotIn('test_line_that_created', text)

  def test_what_the_library_created_has_no_line(self):
    error = runtime.ComputationError('failed: {{node Add}}')
    user_code.add_definition(error, lambda: None)
    self.assertIsNone(user_code.describe(error))

  @parameterized.named_parameters(
    ('while_it_is_traced', 'return confidences.nothing', 'AttributeError'),
    (
      'while_it_runs',
      'with tf.control_dependencies([tf.debugging.assert_less('
      'confidences, 0.0)]): return tf.identity(confidences)',
      'ComputationError',
      ('Client 0 \\(of 2, ', '\nIn round 1', 'small/log.txt'),
    ),
  )
  @pytest.mark.slow
  def test_program(self, line, kind, texts=()):
    folder = pathlib.Path(self.create_tempdir().full_path)
    (folder / 'my_method.py').write_text(_METHOD.format(line=line))
    completed = forked_programs.run(
      'launch.train',
      'my_method:METHOD',
      '--task=digits',
      '--num_clients=4',
      '--clients_per_round=2',
      '--total_rounds=1',
      '--model_width=4',
      '--verbosity=-1',
      f'--output_dir={folder}',
      '--experiment_name=small',
      variables={'PYTHONPATH': str(folder)},
    )
    self.assertEqual(completed.returncode, 1)
    found = completed.stderr
    self.assertLess(len(found.splitlines()), 15, found)
    lines = re.escape(f'{folder}/my_method.py')
    self.assertRegex(
      found,
      f'(?s)"{lines}", line 8, in select.*"{lines}", line 12, in helper.*'
      f'\n{kind}: ',
    )
    for text in texts:
      self.assertRegex(found, text)

  @parameterized.named_parameters(*_MISTAKES)
  @pytest.mark.slow
  def test_program_names_mistakes_after_their_line(self, code, line, problem):
    folder = pathlib.Path(self.create_tempdir().full_path)
    (folder / 'my_method.py').write_text(code)
    completed = forked_programs.run(
      'launch.train',
      'my_method:METHOD',
      '--task=digits',
      '--num_clients=4',
      '--clients_per_round=2',
      '--total_rounds=1',
      '--model_width=4',
      '--verbosity=-1',
      f'--output_dir={folder}',
      variables={'PYTHONPATH': str(folder)},
    )
    self.assertEqual(completed.returncode, 1)
    number = next(
      number
      for number, text in enumerate(code.splitlines(), 1)
      if text.strip().startswith(line)
    )
    first, second, third, *_ = completed.stderr.splitlines()
    self.assertStartsWith(
      first, f'  File "{folder}/my_method.py", line {number}, in '
    )
    self.assertStartsWith(second.strip(), line)
    self.assertStartsWith(third, problem)


if __name__ == '__main__':
  absltest.main()
