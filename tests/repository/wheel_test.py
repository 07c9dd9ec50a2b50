# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of the wheel, installed into an empty environment.

TensorFlow and the other dependencies are from the Python that runs this test;
`tff_semifl` is installed from the wheel. Nothing needs the network.
"""

import os
import pathlib
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import venv
import zipfile

from absl.testing import absltest
import pytest

from tests.repository import source_tree
import tff_semifl

_ROOT = source_tree.PROJECT_ROOT
# The wheel has the latter two as subpackages.
_PACKAGES = ('tff_semifl', 'tasks', 'launch')
_IMPORTS = """
import tff_semifl as sfl
from tff_semifl.tasks import digits

for name in sfl.__all__:
  getattr(sfl, name)
print(sfl.__file__, digits.__file__)
"""
_COMMAND = (
  'train semifl --task=digits --num_clients=10 --clients_per_round=1'
  ' --total_rounds=1 --model_depth=7 --model_width=1'
)
_SUFFIXES = ('.py', '.pyi', '.csv', '.html', '.md', '.typed')


def _package_files() -> dict[str, pathlib.Path]:
  """The files to install, without READMEs: path in the wheel, and file here."""
  files = {}
  for folder in _PACKAGES:
    prefix = '' if folder == 'tff_semifl' else 'tff_semifl/'
    for path in (_ROOT / folder).rglob('*'):
      if path.suffix in _SUFFIXES and path.name != 'README.md':
        files[f'{prefix}{path.relative_to(_ROOT).as_posix()}'] = path
  return files


@pytest.mark.slow
class WheelTest(absltest.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.folder = pathlib.Path(tempfile.mkdtemp())
    cls.addClassCleanup(shutil.rmtree, cls.folder)
    # setuptools leaves files beside the wheel.
    source = cls.folder / 'source'
    for name in _PACKAGES:
      ignored = shutil.ignore_patterns('__pycache__')
      shutil.copytree(_ROOT / name, source / name, ignore=ignored)
    for name in ('pyproject.toml', 'README.md', 'LICENSE'):
      shutil.copy(_ROOT / name, source)
    # The build of `pip wheel --no-build-isolation`.
    build = (
      f'import setuptools.build_meta as b; b.build_wheel({str(cls.folder)!r})'
    )
    subprocess.check_call([sys.executable, '-c', build], cwd=source)
    (cls.wheel,) = cls.folder.glob('*.whl')
    environment = cls.folder / 'environment'
    venv.create(environment, with_pip=True)
    cls.programs = environment / 'bin'
    (cls.site_packages,) = environment.glob('lib/python*/site-packages')
    cls.run_there('pip', 'install', '--no-deps', '--no-index', cls.wheel)
    # The packages of the wheel come first.
    (cls.site_packages / 'dependencies.pth').write_text(
      sysconfig.get_path('purelib')
    )

  @classmethod
  def run_there(cls, program, *arguments) -> str:
    """Runs a program in an empty folder; returns its output."""
    environment = {k: v for k, v in os.environ.items() if k != 'PYTHONPATH'}
    return subprocess.check_output(
      [cls.programs / program, *arguments],
      cwd=tempfile.mkdtemp(dir=cls.folder),
      env={**environment, 'TF_CPP_MIN_LOG_LEVEL': '3'},
      text=True,
      timeout=300,
    )

  def test_has_all_files_below_one_name(self):
    expected = _package_files()
    with zipfile.ZipFile(self.wheel) as archive:
      contents = {
        name: archive.read(name)
        for name in archive.namelist()
        if '.dist-info/' not in name
      }
    self.assertCountEqual(contents, expected)
    for name, path in expected.items():
      self.assertEqual(contents[name], path.read_bytes(), name)

  def test_public_names_and_files_are_those_of_the_wheel(self):
    files = self.run_there('python', '-c', _IMPORTS).split()
    package = self.site_packages / 'tff_semifl'
    self.assertEqual(
      files, [f'{package}/__init__.py', f'{package}/tasks/digits.py']
    )

  def test_trains_by_command(self):
    shown = f'tff-semifl {tff_semifl.__version__}\n'
    self.assertEqual(self.run_there('tff-semifl', '--version'), shown)
    output = self.run_there('tff-semifl', *_COMMAND.split())
    self.assertRegex(output, 'test accuracy after round 1: ')
