# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests that all cells of the tables and figures of Zhang et al. are there."""

from absl.testing import absltest

from tests.experiments import zhang2020_cells


class Zhang2020CellsTest(absltest.TestCase):
  def test_places_have_as_many_cells_as_in_the_paper(self):
    self.assertEqual(
      {
        place: len(set(cells))
        for place, cells in zhang2020_cells.PLACES.items()
      },
      {
        'Figure 2': 4,
        # Of three data sets each with six R, five T, and four N_s. What has
        # T = 16 and R = 0.4 is the same cell in the first two; with 1000 labels
        # it is in the third, but not for EMNIST, whose others have 4700.
        'Figure 3': 3 * (6 + 5 + 4) - 3 - 2,
        'Figure B.1': 5,
        'Figure D.1': 4,
        # Two tables of two rows and three columns, of which the first column
        # is the same; and one of 120 epochs.
        'Table 1': 2 * 2 * 3 - 2 + 1,
        'Table 2': 3 * 2,
        # With DataSharing, and with EASGD and OverlapSGD at two of three T.
        'Table 3': 2 + 1,
        'Table 4': 3 * 2 + 2 * 2,
        'Table C.1': 3,
        'Table F.1': 2 * 4,
        'Table G.1': 3 * 2,
        'appendix A.3': 1,
      },
    )


if __name__ == '__main__':
  absltest.main()
