# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""A report on one or more runs: one file of HTML that needs no network."""

from collections.abc import Iterator, Sequence
import contextlib
import pathlib

import tqdm

import tff_semifl
from tff_semifl.files import durable_files
from tff_semifl.results import group_sections
from tff_semifl.results import page
from tff_semifl.results import run_record
from tff_semifl.results import run_sections
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
    inside = [each.parent for each in folder.glob(f'*/{hparams_file.NAME}')]
    if not inside:
      with _naming(folder):
        # Raises an error that says why the folder is no experiment.
        saved_experiment.read_hparams(folder)
    found.extend(sorted(inside))
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
  """A report as HTML."""
  shown = runs[:_MAX_IN_FULL]
  if len(runs) == 1:
    title, body = runs[0].name, [*run_sections.create(runs[0])]
  else:
    title = f'{len(runs)} runs'
    body = [*group_sections.create(group_sections.find_groups(runs))]
    body.append(page.heading('Each run'))
    for run in shown:
      content = ''.join(run_sections.create(run))
      body.append(page.details(run.name, content, 'run'))
    if len(runs) > len(shown):
      body.append(
        page.paragraph(
          f'The first {len(shown)} of {len(runs)} are shown in full; a report'
          ' on a run alone has all of it.'
        )
      )
  names = ', '.join(run.name for run in shown)
  others = ' and others' if len(runs) > len(shown) else ''
  body.append(
    page.paragraph(
      f'Made by tff_semifl {tff_semifl.__version__} from {names}{others}.',
      'quiet',
    )
  )
  return page.page(title, body)


@contextlib.contextmanager
def _naming(folder: pathlib.Path) -> Iterator[None]:
  """Adds the folder's name to errors about its files."""
  try:
    yield
  except saved_experiment.SavedExperimentError as error:
    raise saved_experiment.SavedExperimentError(f'{folder}: {error}') from error
