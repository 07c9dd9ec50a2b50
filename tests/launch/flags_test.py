# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests that flags agree with documents and programs."""

import importlib
import pathlib
import re

from absl.testing import absltest

from benchmarks import gpu
from benchmarks import gpu_stretch
from benchmarks import measure
from launch import __main__ as main
from tests.launch import programs
from tff_semifl import settings
from tff_semifl.cli import commands
from tff_semifl.cli import parts

_ROOT = pathlib.Path(__file__).parents[2]
_OF_PROGRAMS = [
  parts.Seeds,
  *(
    value
    for name in main.PROGRAMS
    for value in vars(importlib.import_module(f'launch.{name}')).values()
    if isinstance(value, type) and issubclass(value, settings.Settings)
  ),
]
_SETTINGS = commands.names_of_all_settings().union(
  *(
    settings.all_names(each())
    for each in (
      *_OF_PROGRAMS,
      measure.Measure,
      gpu.GPU,
      gpu_stretch.GPUStretch,
    )
  )
)
# Benchmarks that have absl's flags.
_OF_BENCHMARKS = re.findall(
  r"flags\.DEFINE_\w+\(\s*'(\w+)'",
  ''.join(path.read_text() for path in (_ROOT / 'benchmarks').glob('*.py')),
)


class FlagsTest(absltest.TestCase):
  def test_flags_that_documents_name_exist(self):
    known = {*_SETTINGS, *_OF_BENCHMARKS, 'preset'}
    # Flags of absl, pip, TensorBoard and Jupyter that a document may name.
    others = {'logdir', 'flagfile', 'help', 'verbosity', 'system'}
    others |= {'no-deps', 'no-build-isolation', 'user'}
    # Flags of Docker.
    others |= {'file', 'tag', 'rm', 'volume', 'build-arg', 'gpus'}
    # Flags of XLA.
    others |= {'xla_gpu_deterministic_ops', 'xla_gpu_graph_level'}
    # Flags of Ray.
    others |= {'head', 'num-cpus', 'object-store-memory'}
    others |= {'entrypoint-num-cpus', 'entrypoint-num-gpus', 'no-wait'}
    # Settings of models and tasks outside of this package.
    others |= {'split_seed'}
    documents = {_ROOT / 'README.md', *_ROOT.glob('docs/**/*.md')}
    # Removed flags, which old documents name.
    documents.remove(_ROOT / 'docs/history.md')
    self.assertGreater(len(documents), 1)
    for document in documents:
      named = set(
        re.findall(r'(?<![\w-])--([a-z][\w-]*)', document.read_text())
      )
      self.assertEmpty(named - known - others, f'in {document.name}')

  def test_help_has_settings_of_what_is_chosen_and_own_flags(self):
    completed = programs.run_module(
      'launch.train', 'fedmatch', '--partition=main_classes', '--help'
    )
    self.assertEqual(completed.returncode, 0, completed.stderr)
    command = commands.create('fedmatch', {'partition': 'main_classes'})
    self.assertEqual(
      set(re.findall(r'^  --(\w+):', completed.stdout, re.M)),
      settings.as_dict(command).keys()
      | {'dry_run', 'preset'}
      | {'flagfile', 'verbosity', 'version'},
    )
    self.assertIn('  --skew: 0.4\n', completed.stdout)


if __name__ == '__main__':
  absltest.main()
