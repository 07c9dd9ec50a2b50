# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Sites: machines that hold the images of one client each.

The training program has a `SiteDataset` in place of a client's dataset. Only
the site can turn the `SiteDataset` into images.
"""

from collections.abc import Mapping
import dataclasses
import re

import numpy as np
import tensorflow as tf

# Height, width and channels of images.
ImageShape = tuple[int, ...]

# The field of a client's data that is only at the client's site.
IMAGE = 'image'
_NAME = re.compile(r'[A-Za-z0-9][A-Za-z0-9_.-]{0,63}')
NAME_DESCRIPTION = (
  'up to 64 letters, digits, points, hyphens and underscores, of which the'
  ' first is a letter or a digit'
)


def is_name(text: str) -> bool:
  """Whether a text is a valid name of a site."""
  return _NAME.fullmatch(text) is not None


@dataclasses.dataclass(frozen=True)
class SiteDataset:
  """A handle to a client's dataset, which only the client's site can read.

  A `SiteDataset` stands in for a `tf.data.Dataset` that has a single element.
  The element has the scalars `fields`, in this order, and then the images of
  the client.
  """

  site: str
  fields: Mapping[str, np.generic]
  image_shape: ImageShape

  @property
  def element_spec(self) -> dict[str, tf.TensorSpec]:
    """The types of the element's fields, as in `tf.data.Dataset`."""
    return {
      **{name: tf.TensorSpec([], v.dtype) for name, v in self.fields.items()},
      IMAGE: tf.TensorSpec([None, *self.image_shape], tf.uint8),
    }


@dataclasses.dataclass(frozen=True)
class Federation:
  """The sites of a training program.

  `is_new` is whether training starts with the first round, in which all sites
  must be present. Later, clients of missing sites drop out.
  """

  names: tuple[str, ...]
  image_shape: ImageShape
  is_new: bool
