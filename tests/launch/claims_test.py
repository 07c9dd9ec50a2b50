# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests that tables and figures that documents claim are those of presets.

Each preset names the places that have its cell; other tests have, for each
place, the list of its cells. docs/reproducing.md says for each system which
places it has presets for.
"""

import pathlib
import re

from absl.testing import absltest

from tests.experiments import preset_cells
from tff_semifl.experiments import presets
from tff_semifl.experiments import system_registry

_PAGE = pathlib.Path(__file__).parents[2] / 'docs' / 'reproducing.md'


def _read_claims():
  """Returns the tables and figures that the page names, by system."""
  claims = {}
  for line in _PAGE.read_text().splitlines():
    cells = [cell.strip() for cell in line.strip('|').split('|')]
    names = re.findall(r'`(\w+)`', cells[0])
    if len(cells) == 3 and {*names} & system_registry.SYSTEMS.keys():
      for name in names:
        claims[name] = preset_cells.parse_places(cells[2])
  return claims


def _read_presets():
  """Returns the tables and figures that presets name, by system."""
  found = {name: set() for name in system_registry.SYSTEMS}
  for name in presets.names():
    preset = presets.load(name)
    what, _, where = preset.cell.rpartition('; ')
    # The demonstration is of no paper.
    if what:
      places = preset_cells.parse_places(where)
      assert places, name
      found[preset.system_name] |= places
  return found


class ClaimsTest(absltest.TestCase):
  def test_page_claims_what_there_is(self):
    self.assertEqual(_read_claims(), _read_presets())

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
    self.assertEqual(preset_cells.parse_places(text), places)


if __name__ == '__main__':
  absltest.main()
