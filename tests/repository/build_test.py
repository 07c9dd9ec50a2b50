# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""BUILD files say what the sources say: folders' dependencies and programs.

What can be a rule is one in `python_targets.bzl`, which makes the targets.
"""

import ast
import graphlib
import pathlib
from typing import NamedTuple

from absl.testing import absltest

from tests.repository import source_tree

_MACRO = 'python_folder'
_TEST_SUFFIX = '_test.py'
_BESIDE = tuple(f'{each}/' for each in source_tree.PACKAGES_BESIDE)


class Folder(NamedTuple):
  """The statements of a folder's BUILD file, or those that it should make.

  Attributes:
    deps: Labels of the libraries that its modules and tests import, sorted.
    programs: Names of the modules that can be run, sorted.
  """

  deps: list[str]
  programs: list[str]


def _find_call(build_file: pathlib.Path) -> dict[str, list[str]]:
  """Returns the arguments with which a BUILD file calls the macro."""
  for statement in ast.parse(build_file.read_text()).body:
    call = getattr(statement, 'value', None)
    if isinstance(call, ast.Call) and call.func.id == _MACRO:
      return {each.arg: ast.literal_eval(each.value) for each in call.keywords}
  raise ValueError(f'{build_file} does not call {_MACRO}().')


def _read_folder_names(root: pathlib.Path) -> list[str]:
  """Returns FOLDERS of python_targets.bzl."""
  for statement in ast.parse((root / 'python_targets.bzl').read_text()).body:
    if (
      isinstance(statement, ast.Assign) and statement.targets[0].id == 'FOLDERS'
    ):
      return ast.literal_eval(statement.value)
  raise ValueError('python_targets.bzl does not define FOLDERS.')


def _find_folder(path: str, names: list[str]) -> str | None:
  """Returns the innermost folder with a BUILD file that a file lies in."""
  parents = pathlib.PurePosixPath(path).parents
  return next((str(each) for each in parents if str(each) in names), None)


def _is_run(source: str) -> bool:
  return "\nif __name__ == '__main__':\n" in source


def derive_folder(root: pathlib.Path, name: str, names: list[str]) -> Folder:
  """Returns what the sources of a folder ask of its BUILD file.

  Args:
    root: Where the tree of sources begins.
    name: The folder, relative to `root`.
    names: All folders with a BUILD file.
  """
  deps, programs = set(), []
  for path in source_tree.find_python_files(root):
    if _find_folder(path, names) != name:
      continue
    if not path.endswith(_TEST_SUFFIX) and _is_run((root / path).read_text()):
      programs.append(path.removeprefix(f'{name}/').removesuffix('.py'))
    modules = [module for _, module in source_tree.find_imports(root / path)]
    if 'tff_semifl' in modules:
      # Its public names are imported from these when they are used.
      public = source_tree.find_imports(root / source_tree.PUBLIC_NAMES)
      modules.extend(module for _, module in public)
    for module in modules:
      imported = source_tree.find_module_file(root, module)
      if source_tree.is_own(module) and imported:
        deps.add(_find_folder(imported, names))
        if imported.startswith(_BESIDE) and not path.startswith('tests/'):
          # It is found by the file of the package that it lies beside.
          deps.add('tff_semifl')
  return Folder(
    deps=[f'//{each}' for each in sorted(deps - {name, None})],
    programs=programs,
  )


def _check_tests(root: pathlib.Path, names: list[str]) -> list[str]:
  """Returns which tests Bazel would not find, not run, or not import."""
  problems = []
  for path in source_tree.find_python_files(root):
    for _, module in source_tree.find_imports(root / path):
      imported = source_tree.find_module_file(root, module)
      if imported and imported.endswith(_TEST_SUFFIX):
        problems.append(f'{path}: imports {imported}, which is in no library')
    if not path.endswith(_TEST_SUFFIX):
      continue
    folder = path.rpartition('/')[0]
    if folder not in names:
      problems.append(f'{path}: {folder} has no BUILD file; please add one')
    if not _is_run((root / path).read_text()):
      problems.append(
        f'{path}: does nothing when run; please end it with '
        "`if __name__ == '__main__':` and `absltest.main()`"
      )
  return problems


def find_problems(root: pathlib.Path) -> list[str]:
  """Returns one message for each thing wrong with a tree's BUILD files."""
  names = sorted(
    build_file.parent.relative_to(root).as_posix()
    for folder in source_tree.SOURCE_FOLDERS
    for build_file in (root / folder).rglob('BUILD')
  )
  problems = _check_tests(root, names)
  if _read_folder_names(root) != names:
    problems.append(
      f'python_targets.bzl: FOLDERS is to be {names}, the folders with BUILD'
    )
  all_deps = {}
  for name in names:
    derived = derive_folder(root, name, names)
    all_deps[f'//{name}'] = derived.deps
    said = _find_call(root / name / 'BUILD')
    problems.extend(
      f'{name}/BUILD: {argument} is to be {expected}, as its sources say; '
      f'it is {said.get(argument, [])}'
      for argument, expected in derived._asdict().items()
      if said.get(argument, []) != expected
    )
    problems.extend(
      f'{name}/BUILD: large_tests names {test}, which is not there'
      for test in said.get('large_tests', [])
      if not (root / name / f'{test}.py').is_file()
    )
  try:
    graphlib.TopologicalSorter(all_deps).prepare()
  except graphlib.CycleError as error:
    problems.append(f'a cycle of imports: {" <- ".join(error.args[1])}')
  return problems


class BuildTest(absltest.TestCase):
  def test_build_files_agree_with_the_sources(self):
    problems = find_problems(source_tree.PROJECT_ROOT)
    if problems:
      # Bazel wants double quotes.
      self.fail('\n'.join(problems).replace("'", '"'))


class ProblemsTest(absltest.TestCase):
  """Proves on a small tree that each kind of problem is found."""

  def setUp(self):
    super().setUp()
    self._root = pathlib.Path(self.create_tempdir())
    for path, content in {
      'python_targets.bzl': 'FOLDERS = ["launch", "tests", "tff_semifl",'
      ' "tff_semifl/work"]',
      'launch/BUILD': 'python_folder(programs = ["train"],'
      ' deps = ["//tff_semifl/work"])',
      'launch/train.py': 'from tff_semifl.work import client\n'
      "if __name__ == '__main__':\n  client.f()\n",
      'tests/BUILD': 'python_folder(large_tests = ["losses_test"],'
      ' deps = ["//tff_semifl"])',
      'tests/losses_test.py': 'from absl.testing import absltest\n'
      'from tff_semifl.losses import f\n'
      "if __name__ == '__main__':\n  absltest.main()\n",
      'tff_semifl/BUILD': 'python_folder()',
      'tff_semifl/losses.py': 'import math\n',
      'tff_semifl/work/BUILD': 'python_folder(deps = ["//tff_semifl"])',
      'tff_semifl/work/client.py': 'from tff_semifl import losses\n',
    }.items():
      self._write(path, content)

  def _write(self, path: str, content: str) -> None:
    (self._root / path).parent.mkdir(parents=True, exist_ok=True)
    (self._root / path).write_text(content)

  def _assert_problem(self, *words: str) -> None:
    problems = find_problems(self._root)
    self.assertTrue(
      any(all(word in each for word in words) for each in problems), problems
    )

  def test_accepts_a_tree_without_problem(self):
    self.assertEmpty(find_problems(self._root))

  def test_missing_dep(self):
    self._write('tff_semifl/work/BUILD', 'python_folder()')
    self._assert_problem(
      'tff_semifl/work/BUILD: deps', "['//tff_semifl']", 'it is []'
    )

  def test_dep_without_import(self):
    self._write('tff_semifl/work/client.py', '')
    self._assert_problem('tff_semifl/work/BUILD: deps is to be []')

  def test_dep_of_a_folder_within_a_folder(self):
    self._write('launch/sweeps/plan.py', 'from tff_semifl import losses')
    self._assert_problem("['//tff_semifl', '//tff_semifl/work']")

  def test_program_that_is_not_named(self):
    self._write('launch/BUILD', 'python_folder(deps = ["//tff_semifl/work"])')
    self._assert_problem("launch/BUILD: programs is to be ['train']")

  def test_program_that_is_not_there(self):
    self._write('launch/train.py', 'from tff_semifl.work import client')
    self._assert_problem('launch/BUILD: programs is to be []')

  def test_large_test_that_is_not_there(self):
    (self._root / 'tests/losses_test.py').unlink()
    self._assert_problem('large_tests names losses_test')

  def test_folder_that_is_not_listed(self):
    self._write('tff_semifl/data/BUILD', 'python_folder()')
    self._assert_problem('FOLDERS is to be', 'tff_semifl/data')

  def test_test_in_a_folder_without_build_file(self):
    source = (self._root / 'tests/losses_test.py').read_text()
    self._write('tests/work/client_test.py', source)
    self._assert_problem('tests/work has no BUILD file')

  def test_test_that_does_nothing_when_run(self):
    self._write('tests/losses_test.py', 'from tff_semifl import losses')
    self._assert_problem('tests/losses_test.py: does nothing when run')

  def test_import_of_a_test(self):
    source = (self._root / 'tests/losses_test.py').read_text()
    self._write(
      'tests/other_test.py', f'from tests import losses_test\n{source}'
    )
    self._assert_problem('tests/other_test.py: imports tests/losses_test.py')

  def test_cycle(self):
    self._write('tff_semifl/losses.py', 'from tff_semifl.work import client')
    self._assert_problem('a cycle of imports', '//tff_semifl/work')


if __name__ == '__main__':
  absltest.main()
