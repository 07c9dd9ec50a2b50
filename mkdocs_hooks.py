# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Hooks of MkDocs: pages outside of docs/, and docstrings on the API page.

The repository's root becomes the root of the site. README.md is the first page,
and docs/python.md is beside it. Sources and tables to which pages link are at
the paths that the links name.
"""

import base64
import json
import pathlib
import re
import shutil

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File
from mkdocs.structure.files import Files
from mkdocs.structure.pages import Page

_ROOT = pathlib.Path(__file__).parent
_PACKAGE = _ROOT / 'build' / 'docs_sources' / 'tff_semifl'
_LINKED_FILES = (
  'LICENSE',
  'CITATION.cff',
  'deploy/*',
  'tff_semifl/experiment/*.csv',
)
# The site's pages, by the files in the repository's root that become pages.
_DOCUMENTS = {
  'README.md': 'index.md',
  'CHANGELOG.md': 'CHANGELOG.md',
  'CONTRIBUTING.md': 'CONTRIBUTING.md',
  'SECURITY.md': 'SECURITY.md',
}
# The READMEs of the folders of baselines.
_BASELINES = {
  f'tff_semifl/baselines/{name}/README.md': f'baselines/{name}.md'
  for name in ('fedmatch', 'fedsgd', 'one_place', 'zhang2020')
}


def on_startup(command: str, dirty: bool) -> None:
  """Copies the package to the path where mkdocstrings reads it.

  mkdocstrings does not look into folders without `__init__.py`, and finds tasks
  and programs only at their paths in an installed package.

  Args:
    command: The command of MkDocs, such as build.
    dirty: Whether only changed pages are built.
  """
  del command, dirty
  shutil.rmtree(_PACKAGE, ignore_errors=True)
  ignore = shutil.ignore_patterns('__pycache__')
  shutil.copytree(_ROOT / 'tff_semifl', _PACKAGE, ignore=ignore)
  for name in ('tasks', 'launch'):
    shutil.copytree(_ROOT / name, _PACKAGE / name, ignore=ignore)
  for folder in [_PACKAGE, *_PACKAGE.rglob('*/')]:
    (folder / '__init__.py').touch()


def on_files(files: Files, config: MkDocsConfig) -> Files:
  """Adds the pages and files that are outside of docs/."""
  for document, page in (_DOCUMENTS | _BASELINES).items():
    path = str(_ROOT / document)
    files.append(File.generated(config, page, abs_src_path=path))
  for pattern in _LINKED_FILES:
    for path in sorted(_ROOT.glob(pattern)):
      name = path.relative_to(_ROOT).as_posix()
      files.append(File.generated(config, name, abs_src_path=str(path)))
  for path in sorted((_ROOT / 'examples').glob('*.py')):
    text = f'# {path.name}\n\n```python\n{path.read_text()}```\n'
    name = f'examples/{path.stem}.md'
    files.append(File.generated(config, name, content=text))
  for path in sorted((_ROOT / 'examples').glob('*.ipynb')):
    _add_notebook(path, files, config)
  return files


def on_page_markdown(
  markdown: str, page: Page, config: MkDocsConfig, files: Files
) -> str:
  """Turns links between files of the repository into links between pages."""
  del config, files
  if page.file.src_uri == 'api.md':
    markdown = _add_api_entries(markdown)
  if page.file.src_uri in _DOCUMENTS.values():
    markdown = markdown.replace('](docs/', '](')
  elif page.file.src_uri in _BASELINES.values():
    markdown = markdown.replace('](../../../docs/', '](../')
  else:
    # A link out of docs/, which is the root of the site.
    depth = page.file.src_uri.count('/')
    markdown = markdown.replace(
      '](' + '../' * (depth + 1), '](' + '../' * depth
    )
  return re.sub(r'(\]\([./]*examples/\w+)\.(py|ipynb)\)', r'\1.md)', markdown)


def on_page_content(
  html: str, page: Page, config: MkDocsConfig, files: Files
) -> str:
  """Marks flags, which stylesheets/extra.css does not break across lines."""
  del page, config, files
  return re.sub(
    r'<code>(--\w{1,28}(?:=\w{1,8})?)</code>',
    r'<code class="flag">\1</code>',
    html,
  )


def _add_notebook(
  path: pathlib.Path, files: Files, config: MkDocsConfig
) -> None:
  """Adds a page for a notebook, with its outputs and figures."""
  parts = []
  for number, cell in enumerate(json.loads(path.read_text())['cells']):
    source = ''.join(cell['source'])
    if cell['cell_type'] == 'markdown':
      source = source.replace('](../docs/', '](../')
      parts.append(re.sub(r'\]\((\w+)\.(py|ipynb)\)', r'](\1.md)', source))
      continue
    parts.append(f'```python\n{source}\n```')
    for output in cell['outputs']:
      if output['output_type'] == 'stream':
        parts.append(f'```text\n{"".join(output["text"])}```')
        continue
      # Matplotlib shows a single figure at the end of a cell.
      picture = f'{path.stem}_{number}.png'
      content = base64.b64decode(output['data']['image/png'])
      files.append(
        File.generated(config, f'examples/{picture}', content=content)
      )
      parts.append(f'![What the cell shows]({picture})')
  text = '\n\n'.join(parts)
  files.append(File.generated(config, f'examples/{path.stem}.md', content=text))


def _add_api_entries(markdown: str) -> str:
  """Adds to each group the docstrings of the names in its table."""
  begin, *groups = markdown.split('\n## ')
  for number, group in enumerate(groups):
    rows = re.findall(r'^\| (`.*?) \|', group, re.MULTILINE)
    names = re.findall(r'`(\w+)`', ' '.join(rows))
    for row in rows:
      linked = re.sub(r'`(\w+)`', r'[`\1`][tff_semifl.\1]', row)
      group = group.replace(f'| {row} |', f'| {linked} |')
    entries = [f'::: tff_semifl.{name}\n' for name in names]
    groups[number] = '\n'.join([group, *entries])
  return '\n## '.join([begin, *groups])
