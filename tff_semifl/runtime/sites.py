# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Sites: machines that keep the images of a client, and what is said of them.

The program that directs training has a `SiteDataset` where it would have a
client's dataset. Only the site can turn it into images.
"""

from collections.abc import Mapping
import dataclasses
import re

import numpy as np
import tensorflow as tf

ImageShape = tuple[int, int, int]

# Of the field of a client's data that only its site has.
IMAGE = 'image'
_NAME = re.compile(r'[A-Za-z0-9][A-Za-z0-9_.-]{0,63}')
NAME_DESCRIPTION = (
  'up to 64 letters, digits, points, hyphens and underscores, of which the'
  ' first is a letter or a digit'
)


def is_name(text: str) -> bool:
  """Returns whether a site may have this name."""
  return _NAME.fullmatch(text) is not None


@dataclasses.dataclass(frozen=True)
class SiteDataset:
  """A client's dataset that nobody but its site can read.

  It takes the place of a `tf.data.Dataset` of one chunk.

  Attributes:
    site: The name of the site.
    fields: Scalars of the chunk, by name and in order; after them it has the
      site's images.
    image_shape: Height, width and channels that the images are to have.
  """

  site: str
  fields: Mapping[str, np.generic]
  image_shape: ImageShape

  @property
  def element_spec(self) -> dict[str, tf.TensorSpec]:
    """The types of the chunk's fields, as `tf.data.Dataset` has them."""
    return {
      **{name: tf.TensorSpec([], v.dtype) for name, v in self.fields.items()},
      IMAGE: tf.TensorSpec([None, *self.image_shape], tf.uint8),
    }


@dataclasses.dataclass(frozen=True)
class Federation:
  """The sites that a program expects.

  Attributes:
    names: Their names.
    image_shape: Height, width and channels of their images.
    is_new: Whether training begins: then all of them have to be there. Later,
      one that is away has dropped out.
  """

  names: tuple[str, ...]
  image_shape: ImageShape
  is_new: bool
