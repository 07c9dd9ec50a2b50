# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests that tables and figures that README claims are those of flagfiles.

Each flagfile names in its first line the places that have its cell; other tests
have, for each place, the list of its cells. README says for each system which
places it has flagfiles for.
"""

import re

from absl.testing import absltest

from launch import systems
from tests.launch import flagfile_cells

_FOLDER = flagfile_cells.ROOT / 'launch' / 'flagfiles'


def _read_claims():
  """Returns what README says: by system the places."""
  claims = {}
  for line in (flagfile_cells.ROOT / 'README.md').read_text().splitlines():
    cells = [cell.strip() for cell in line.strip('|').split('|')]
    names = re.findall(r'`(\w+)`', cells[0])
    if len(cells) == 3 and {*names} & {system.name for system in systems.ALL}:
      for name in names:
        claims[name] = flagfile_cells.parse_places(cells[2])
  return claims


def _read_first_lines(system):
  """Returns the first lines of a system's flagfiles for cells of papers."""
  first_lines = [
    path.read_text().partition('\n')[0]
    for path in sorted((_FOLDER / system.name).glob('*.flags'))
  ]
  return [line for line in first_lines if line.endswith('.') and '; ' in line]


class ClaimsTest(absltest.TestCase):
  def test_readme_claims_what_there_is(self):
    claims = _read_claims()
    for system in systems.ALL:
      with self.subTest(system.name):
        found = set()
        for line in _read_first_lines(system):
          places = flagfile_cells.parse_places(line.rpartition('; ')[2])
          self.assertNotEmpty(places, line)
          found |= places
        self.assertEqual(claims[system.name], found)

  def test_places_are_read_as_they_are_written(self):
    text = (
      'Zhang et al.: Tables 1 to 3, C.1, Figures 2, B.1, appendix A.3, Table 4'
    )
    places = {
      'Table 1',
      'Table 2',
      'Table 3',
      'Table C.1',
      'Table 4',
      'Figure 2',
      'Figure B.1',
      'appendix A.3',
    }
    self.assertEqual(flagfile_cells.parse_places(text), places)
    self.assertEqual(
      flagfile_cells.format_places(places),
      'Figures 2, B.1, Tables 1, 2, 3, 4, C.1, appendix A.3',
    )


if __name__ == '__main__':
  absltest.main()
