# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""A report on one or more runs: one file of HTML that needs no network."""

from collections.abc import Iterator, Sequence
import contextlib
import pathlib

import tqdm

import tff_semifl
from tff_semifl.files import durable_files
from tff_semifl.reports import group_sections
from tff_semifl.reports import groups as groups_lib
from tff_semifl.reports import page
from tff_semifl.reports import run_record
from tff_semifl.reports import run_sections
from tff_semifl.runs import hparams_file
from tff_semifl.runs import saved_experiment

# More runs are only in the tables, so that the file of a sweep stays small.
_MAX_IN_FULL = 8


def find_runs(folders: Sequence[pathlib.Path]) -> list[pathlib.Path]:
  """The folders of experiments: those given, or those inside."""
  found = []
  for folder in folders:
    if (folder / hparams_file.NAME).exists():
      found.append(folder)
      continue
    inside = sorted(
      path.parent for path in folder.glob(f'*/{hparams_file.NAME}')
    )
    if not inside:
      with _naming(folder):
        # Raises an error that says why the folder is no experiment.
        saved_experiment.read_hparams(folder)
    found.extend(inside)
  taken = set()
  for folder in found:
    if folder.resolve() in taken:
      raise saved_experiment.SavedExperimentError(f'{folder}: is there twice')
    taken.add(folder.resolve())
  return found


def write(path: pathlib.Path, folders: Sequence[pathlib.Path]) -> None:
  """Writes a report, and replaces an existing file."""
  runs = []
  for folder in tqdm.tqdm(
    folders, 'examining runs', disable=None if len(folders) > 1 else True
  ):
    with _naming(folder):
      runs.append(run_record.read(folder))
  content = create(runs)
  with durable_files.naming(path):
    path.parent.mkdir(parents=True, exist_ok=True)
    with durable_files.replacing(path) as file:
      file.write(content.encode())


def create(runs: Sequence[run_record.RunRecord]) -> str:
  """Returns a report, HTML."""
  footer = page.paragraph(
    f'Made by tff_semifl {tff_semifl.__version__} from'
    f' {", ".join(run.name for run in runs[:_MAX_IN_FULL])}'
    f'{"" if len(runs) <= _MAX_IN_FULL else " and others"}.',
    'quiet',
  )
  if len(runs) == 1:
    title = runs[0].name
    body = [page.heading(title, 1), *run_sections.create(runs[0])]
    return page.page(title, [*body, footer])
  groups = groups_lib.find(runs)
  title = f'{len(runs)} runs'
  body = [
    page.heading(title, 1),
    *group_sections.create(groups),
    page.heading('Each run'),
  ]
  for run in runs[:_MAX_IN_FULL]:
    body.append(
      page.details(run.name, ''.join(run_sections.create(run)), 'run')
    )
  if len(runs) > _MAX_IN_FULL:
    body.append(
      page.paragraph(
        f'The first {_MAX_IN_FULL} of {len(runs)} are shown in full; a report'
        ' on a run alone has all of it.'
      )
    )
  return page.page(title, [*body, footer])


@contextlib.contextmanager
def _naming(folder: pathlib.Path) -> Iterator[None]:
  """Adds the folder's name to errors about its files."""
  try:
    yield
  except saved_experiment.SavedExperimentError as error:
    raise saved_experiment.SavedExperimentError(f'{folder}: {error}') from error
