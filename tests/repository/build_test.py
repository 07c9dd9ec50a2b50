# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The BUILD files say what the sources say, and Bazel would accept it."""

import ast
import pathlib
from typing import Any, NamedTuple

from absl.testing import absltest

from tests.repository import source_tree

_PYTHON_RULES = ('py_library', 'py_binary', 'py_test')
_TEST_SUFFIX = '_test.py'
# Stands for every package of requirements.txt.
_REQUIREMENTS = '//:requirements'


class Target(NamedTuple):
  """A target of a BUILD file.

  Attributes:
    label: In full, as '//tff_semifl/data:data'.
    rule: What makes it, as 'py_library'.
    sources: Files, relative to the root.
    deps: Labels, in full.
    data: Labels, in full, and files, relative to the root.
    visibility: As written.
  """

  label: str
  rule: str
  sources: list[str]
  deps: list[str]
  data: list[str]
  visibility: list[str]

  @property
  def package(self) -> str:
    return self.label.removeprefix('//').split(':')[0]


def _join(package: str, name: str) -> str:
  return f'{package}/{name}' if package else name


def _expand_label(package: str, label: str) -> str:
  """Returns a label in full: ':a' in //b is '//b:a', '//b/a' '//b/a:a'."""
  if label.startswith(':'):
    return f'//{package}{label}'
  if ':' not in label:
    return f'{label}:{label.split("/")[-1]}'
  return label


def _shorten_label(package: str, label: str) -> str:
  """Undoes `_expand_label`."""
  folder, name = label.split(':')
  if folder == f'//{package}':
    return f':{name}'
  return folder if folder.split('/')[-1] == name else label


def _glob(
  folder: pathlib.Path, patterns: list[str], exclude: list[str]
) -> list[str]:
  """Returns what Bazel's glob does: files, not those of folders with BUILD."""
  excluded = {path for pattern in exclude for path in folder.glob(pattern)}
  return sorted(
    path.relative_to(folder).as_posix()
    for pattern in patterns
    # For Bazel, ** at the end means files at any depth.
    for path in folder.glob(
      f'{pattern}/*' if pattern.endswith('**') else pattern
    )
    if path.is_file()
    and path not in excluded
    and not any(
      (parent / 'BUILD').exists()
      for parent in path.parents
      if parent.is_relative_to(folder) and parent != folder
    )
  )


def _evaluate(node: ast.expr, folder: pathlib.Path) -> Any:
  """Returns the value of an argument: a constant, a list, a glob or a sum."""
  if isinstance(node, ast.BinOp):
    return _evaluate(node.left, folder) + _evaluate(node.right, folder)
  if isinstance(node, ast.Call):
    values = {each.arg: ast.literal_eval(each.value) for each in node.keywords}
    patterns = ast.literal_eval(node.args[0])
    return _glob(folder, patterns, values.get('exclude', []))
  if isinstance(node, ast.Name):  # All that the lock holds.
    return []
  return ast.literal_eval(node)


def read_targets(root: pathlib.Path) -> dict[str, Target]:
  """Returns the targets of a tree's BUILD files by their labels."""
  targets = {}
  build_files = [root / 'BUILD']
  for folder in source_tree.SOURCE_FOLDERS:
    build_files.extend((root / folder).rglob('BUILD'))
  for build_file in sorted(build_files):
    folder = build_file.parent
    package = folder.relative_to(root).as_posix().removeprefix('.')
    default_visibility = ['//visibility:private']
    for statement in ast.parse(build_file.read_text()).body:
      if not isinstance(getattr(statement, 'value', None), ast.Call):
        continue  # A comment.
      rule = statement.value.func.id
      if rule in ('load', 'exports_files'):
        continue
      values = {
        each.arg: _evaluate(each.value, folder)
        for each in statement.value.keywords
      }
      if rule == 'package':
        default_visibility = values['default_visibility']
        continue
      label = f'//{package}:{values["name"]}'
      targets[label] = Target(
        label=label,
        rule=rule,
        sources=[_join(package, name) for name in values.get('srcs', ())],
        deps=[_expand_label(package, dep) for dep in values.get('deps', ())],
        data=[
          _expand_label(package, name)
          if name.startswith(('//', ':'))
          else _join(package, name)
          for name in values.get('data', ())
        ],
        visibility=values.get('visibility', default_visibility),
      )
  return targets


def _find_owners(targets: dict[str, Target]) -> dict[str, str]:
  """Returns the label of the library or test that each file belongs to."""
  return {
    source: target.label
    for target in targets.values()
    if target.rule in ('py_library', 'py_test')
    for source in target.sources
  }


def _find_needed_deps(
  root: pathlib.Path, target: Target, owners: dict[str, str]
) -> dict[str, str]:
  """Returns the labels that a target's sources import, and one place each."""
  needed = {}
  for source in target.sources:
    if not (root / source).is_file():
      continue
    for line, module in source_tree.find_imports(root / source):
      if source_tree.is_own(module):
        imported = source_tree.find_module_file(root, module)
        dep = owners.get(imported)
        # A package that holds nothing: what is meant lies in its folder.
        if dep is None or dep == target.label:
          continue
      elif source_tree.is_standard(module):
        continue
      else:
        dep = _REQUIREMENTS
      needed.setdefault(dep, f'{source}:{line} imports {module}')
  return needed


def _check_files(root: pathlib.Path, targets: dict[str, Target]) -> list[str]:
  """Returns what is wrong with the files that targets name, or fail to."""
  problems = []
  owners = _find_owners(targets)

  def suggest_deps(path: str) -> str:
    package, _, name = path.rpartition('/')
    target = Target(f'//{package}:{name}', '', [path], [], [], [])
    deps = _find_needed_deps(root, target, owners)
    labels = sorted(_shorten_label(package, dep) for dep in deps)
    return str(labels).replace("'", '"')

  for target in targets.values():
    problems.extend(
      f'{target.label}: names {name}, which is not there'
      for name in (*target.sources, *target.data)
      if target.rule in _PYTHON_RULES
      and not name.startswith('//')
      and not (root / name).is_file()
    )
    problems.extend(
      f'{target.label}: names {label}, which is not there'
      for label in (*target.deps, *target.data)
      if label.startswith('//') and label not in targets
    )
  for path in source_tree.find_python_files(root):
    package, _, name = path.rpartition('/')
    if path.endswith(_TEST_SUFFIX):
      expected = f'//{package}:{name.removesuffix(".py")}'
      found = targets.get(expected)
      if not found or found.rule != 'py_test' or found.sources != [path]:
        problems.append(
          f'{path}: has no py_test of its own; please add to {package}/BUILD: '
          f'py_test(name = "{name.removesuffix(".py")}", srcs = ["{name}"], '
          f'deps = {suggest_deps(path)})'
        )
      if "\nif __name__ == '__main__':\n" not in (root / path).read_text():
        problems.append(
          f'{path}: does nothing when run; please end it with '
          "`if __name__ == '__main__':` and `absltest.main()`"
        )
    elif path not in owners:
      problems.append(
        f'{path}: is in no target; please add it to a py_library of '
        f'{package}/BUILD, with deps = {suggest_deps(path)}'
      )
  return problems


def _check_deps(root: pathlib.Path, targets: dict[str, Target]) -> list[str]:
  """Returns where deps and imports differ."""
  problems = []
  owners = _find_owners(targets)
  for target in targets.values():
    if target.rule not in ('py_library', 'py_test') or not target.sources:
      continue
    needed = _find_needed_deps(root, target, owners)
    build_file = _join(target.package, 'BUILD')
    for dep, reason in needed.items():
      if dep not in target.deps:
        problems.append(
          f'{build_file}: {reason}; please add '
          f'"{_shorten_label(target.package, dep)}" to deps of {target.label}'
        )
    problems.extend(
      f'{build_file}: {target.label} imports nothing of '
      f'"{_shorten_label(target.package, dep)}"; please remove it from deps'
      for dep in target.deps
      if dep not in needed
    )
  return problems


def _is_visible(target: Target, package: str) -> bool:
  if target.package == package:
    return True
  for pattern in target.visibility:
    folder, _, kind = pattern.removeprefix('//').partition(':')
    if (
      pattern == '//visibility:public'
      or (kind == '__pkg__' and package == folder)
      or (kind == '__subpackages__' and f'{package}/'.startswith(f'{folder}/'))
    ):
      return True
  return False


def _check_visibility(targets: dict[str, Target]) -> list[str]:
  """Returns which targets use what they may not see."""
  return [
    f'{target.label}: may not see {label}; its visibility is '
    f'{targets[label].visibility}'
    for target in targets.values()
    for label in (*target.deps, *target.data)
    if label in targets and not _is_visible(targets[label], target.package)
  ]


def _check_cycles(targets: dict[str, Target]) -> list[str]:
  """Returns the first way round from a target to itself, if there is one."""
  done = set()

  def find_cycle(path: tuple[str, ...]) -> list[str]:
    for dep in targets[path[-1]].deps:
      if dep in path:
        return [f'a cycle: {" -> ".join((*path[path.index(dep) :], dep))}']
      if dep in targets and dep not in done:
        found = find_cycle((*path, dep))
        if found:
          return found
    done.add(path[-1])
    return []

  for label in targets:
    found = find_cycle((label,))
    if found:
      return found
  return []


def find_problems(root: pathlib.Path) -> list[str]:
  """Returns one message for each thing wrong with a tree's BUILD files."""
  targets = read_targets(root)
  return (
    _check_files(root, targets)
    + _check_deps(root, targets)
    + _check_visibility(targets)
    + _check_cycles(targets)
  )


class BuildTest(absltest.TestCase):
  def test_build_files_agree_with_the_sources(self):
    problems = find_problems(source_tree.PROJECT_ROOT)
    if problems:
      self.fail('\n'.join(problems))

  def test_all_files_are_handed_to_these_tests(self):
    targets = read_targets(source_tree.PROJECT_ROOT)
    every = targets['//:files'].sources
    self.assertSameElements(
      [name.removeprefix('//') for name in every if '//' in name],
      [
        f'{target.package}:files'
        for target in targets.values()
        if target.package
      ],
      'Each package has its `files`, and //:files lists them.',
    )


class ProblemsTest(absltest.TestCase):
  """Proves on a small tree that each kind of problem is found."""

  def setUp(self):
    super().setUp()
    self._root = pathlib.Path(self.create_tempdir())
    for path, content in {
      'BUILD': 'py_library(name = "requirements",'
      ' visibility = ["//visibility:public"])',
      'tff_semifl/BUILD': 'py_library(name = "losses", srcs = ["losses.py"],'
      ' visibility = ["//tff_semifl:__subpackages__", "//tests:__pkg__"])',
      'tff_semifl/losses.py': 'import math\n',
      'tff_semifl/work/BUILD': 'py_library(name = "work",'
      ' srcs = glob(["**/*.py"]), deps = ["//tff_semifl:losses"])',
      'tff_semifl/work/client.py': 'from tff_semifl import losses\n',
      'tests/BUILD': 'py_test(name = "losses_test", srcs = ["losses_test.py"],'
      ' deps = ["//:requirements", "//tff_semifl:losses"])',
      'tests/losses_test.py': 'from absl.testing import absltest\n'
      'from tff_semifl.losses import f\n'
      "if __name__ == '__main__':\n  absltest.main()\n",
    }.items():
      self._write(path, content)

  def _write(self, path: str, content: str) -> None:
    (self._root / path).parent.mkdir(parents=True, exist_ok=True)
    (self._root / path).write_text(content)

  def _replace(self, path: str, old: str, new: str) -> None:
    content = (self._root / path).read_text()
    self.assertIn(old, content)
    self._write(path, content.replace(old, new))

  def _assert_problem(self, *words: str) -> None:
    problems = find_problems(self._root)
    self.assertTrue(
      any(all(word in each for word in words) for each in problems), problems
    )

  def test_accepts_a_tree_without_problem(self):
    self.assertEmpty(find_problems(self._root))

  def test_file_in_no_target(self):
    self._write('tff_semifl/optimizers.py', '')
    self._assert_problem('tff_semifl/optimizers.py: is in no target')

  def test_test_without_target(self):
    source = (self._root / 'tests/losses_test.py').read_text()
    self._write('tests/other_test.py', source)
    self._assert_problem(
      'tests/other_test.py: has no py_test',
      'deps = ["//:requirements", "//tff_semifl:losses"]',
    )

  def test_test_that_does_nothing_when_run(self):
    self._replace('tests/losses_test.py', '__name__', '__file__')
    self._assert_problem('tests/losses_test.py: does nothing when run')

  def test_named_file_is_not_there(self):
    (self._root / 'tff_semifl/losses.py').unlink()
    self._assert_problem('names tff_semifl/losses.py, which is not there')

  def test_named_target_is_not_there(self):
    self._replace('tests/BUILD', '"//:requirements"', '"//:nothing"')
    self._assert_problem('names //:nothing, which is not there')

  def test_missing_dep(self):
    self._replace('tff_semifl/work/BUILD', '"//tff_semifl:losses"', '')
    self._assert_problem('client.py:1', 'please add "//tff_semifl:losses"')

  def test_missing_requirements(self):
    self._write('tff_semifl/losses.py', 'import tensorflow as tf')
    self._assert_problem('losses.py:1', 'please add "//:requirements"')

  def test_dep_without_import(self):
    self._write('tff_semifl/work/client.py', '')
    self._assert_problem('work imports nothing', 'please remove it')

  def test_invisible_dep(self):
    self._replace('tff_semifl/BUILD', '"//tff_semifl:__subpackages__",', '')
    self._assert_problem('work:work: may not see //tff_semifl:losses')

  def test_cycle(self):
    self._write('tff_semifl/losses.py', 'from tff_semifl.work import client')
    self._replace('tff_semifl/BUILD', ')', ', deps = ["//tff_semifl/work"])')
    self._assert_problem('a cycle')


if __name__ == '__main__':
  absltest.main()
