# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The say of clients in whether padding comes after their images."""

from tff_semifl import settings


class MayHeedPadding(settings.Settings):
  """Base of what clients make of their images.

  Attributes:
    heeds_padding: Whether methods of this very class leave rows of padding out,
      as sums of `image_sums` do. A class that derives from it has to say so
      anew, because its methods may be others.
  """

  heeds_padding = False

  @property
  def allows_padding(self) -> bool:
    """True if padding after the images of a client changes nothing."""
    return vars(type(self)).get('heeds_padding', False)
