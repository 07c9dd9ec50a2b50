# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The command tff-semifl, which an installed package starts programs with.

This is `python -m launch.train semifl --task=digits` of a clone:

  tff-semifl train semifl --task=digits
"""

import runpy
import sys

from tff_semifl.launch import invocation

PROGRAMS = {
  'train': 'Trains an image classifier with a system.',
  'demo': 'Trains on a small task, with and without clients.',
  'sweep': 'Trains presets or flagfiles with several seeds.',
  'export_saved_model': 'Exports the model of an experiment.',
  'evaluate': 'Evaluates an exported model.',
  'predict': 'Classifies images with an exported model.',
  'plot': 'Draws learning curves of experiments.',
  'show_augmentations': 'Draws augmented images.',
  'show_partition': 'Draws which client has which classes.',
  'show_settings': 'Prints the table of all settings.',
  'worker': 'Runs computations for training on another machine.',
}


def main() -> None:
  """Runs the program that is the first argument, with the other arguments."""
  name, *arguments = sys.argv[1:] or ['']
  invocation.answer_version(sys.argv[1:])
  if name not in PROGRAMS:
    is_asked = name in invocation.HELP
    lines = ['usage: tff-semifl PROGRAM [--flag=value ...]', '', 'programs:']
    lines.extend(f'  {key}: {text}' for key, text in PROGRAMS.items())
    if name and not is_asked:
      lines.insert(0, f'there is no program {name!r}')
    print('\n'.join(lines), file=sys.stdout if is_asked else sys.stderr)
    sys.exit(0 if is_asked else 1)
  sys.argv[1:] = arguments
  runpy.run_module(
    f'tff_semifl.launch.{name}', run_name='__main__', alter_sys=True
  )
