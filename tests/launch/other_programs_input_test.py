# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of what bad flags of programs that train nothing get: one line."""

from absl.testing import absltest
from absl.testing import parameterized

from tests import forked_programs
from tff_semifl.command_line import main


class OtherProgramsInputTest(parameterized.TestCase):
  def test_setting_of_an_experiment_is_not_to_be_chosen_for_its_export(self):
    completed = forked_programs.run(
      'launch.export_saved_model', '--experiment=results/mine', '--seed=3'
    )
    self.assertEqual(completed.returncode, 1)
    self.assertIn("Unknown command line flag 'seed'", completed.stderr)

  @parameterized.parameters(
    *('evaluate', 'export_saved_model', 'plot', 'predict', 'show_augmentations')
    + ('show_partition', 'show_settings', 'sweep')
  )
  def test_other_programs_say_one_line_too(self, name):
    for argument, line in (
      (
        '--flagfile=/nowhere',
        'flag --flagfile=/nowhere: cannot read /nowhere: No such file or'
        ' directory',
      ),
      (
        '--verbosity=loud',
        'flag --verbosity=loud: must be a whole number',
      ),
    ):
      completed = forked_programs.run(f'launch.{name}', argument)
      self.assertEqual(completed.returncode, 1)
      self.assertEqual(completed.stderr, f'{line}\n')

  @parameterized.parameters(*main.PROGRAMS)
  def test_help_is_no_error(self, name):
    outputs = []
    for asking in ('--help', '--helpshort', '--helpfull', '-h'):
      completed = forked_programs.run(f'launch.{name}', asking)
      self.assertEqual(completed.returncode, 0, completed.stderr)
      self.assertEqual(completed.stderr, '')
      outputs.append(completed.stdout)
    # Its first line says what the program does, and examples are as one types
    # them: with a backslash where a line goes on in the next.
    summary = main.summarize(name).removesuffix('.')
    for output in outputs:
      self.assertIn(summary, output)
      self.assertNotRegex(output.partition('\n\n--')[0], r'launch.*\S {3,}\S')

  @parameterized.named_parameters(
    (
      'no_flag',
      'plot',
      '--experiment=a',
      "Unknown command line flag 'experiment'. Did you mean: experiments ?",
    ),
    (
      'no_format',
      'export_saved_model',
      '--format=onnx',
      "flag --format=['onnx']: must be some of saved_model, tflite_float32,"
      ' tflite_float16, tflite_int8, tflite',
    ),
    (
      'out_of_range',
      'sweep',
      '--parallel=0',
      'flag --parallel=0: 0 is not a positive integer',
    ),
    (
      'no_experiment',
      'plot',
      '--experiments=/a,/b',
      'flag --experiments=/a,/b: cannot read /a/metrics.csv: No such file or'
      ' directory',
    ),
    (
      'folder_that_cannot_be_made',
      'show_partition',
      '--output_file=/proc/no/a.png',
      'flag --output_file=/proc/no/a.png: /proc/no: No such file or'
      ' directory',
    ),
  )
  def test_one_line_of_another_program(self, name, argument, line):
    completed = forked_programs.run(f'launch.{name}', argument)
    self.assertEqual(completed.returncode, 1)
    self.assertEqual(completed.stderr, f'{line}\n')


if __name__ == '__main__':
  absltest.main()
