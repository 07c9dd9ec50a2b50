# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The site to which a process of a Ray cluster belongs.

`launch.site` passes the path of the images in an environment variable to the
processes of the site's machine. Only these processes read the images.
"""

from collections.abc import Sequence
import contextlib
import json
import os
from typing import Any, NamedTuple, NoReturn

import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

from tff_semifl import private_api
from tff_semifl.runtime import errors
from tff_semifl.runtime import sites
from tff_semifl.runtime.ray import graph_digest
from tff_semifl.runtime.ray import values as ray_values

_VARIABLE = 'TFF_SEMIFL_SITE'
_IMAGE_RANK = 3


class Description(NamedTuple):
  """What the training program learns about a site."""

  name: str
  num_images: int
  image_shape: sites.ImageShape


class Site(NamedTuple):
  """A site, as the processes of the site's machine know it.

  The file `images` has the pixels of all images, uint8, one after another. The
  file `messages` is for messages to the site's operator. `approved` are the
  digests of approved programs; None if all programs may run.
  """

  description: Description
  images: str
  messages: str
  approved: Sequence[str] | None = None

  @classmethod
  def here(cls) -> 'Site | None':
    """The site of this process; None if the process is not at a site."""
    if _VARIABLE not in os.environ:
      return None
    description, *others = json.loads(os.environ[_VARIABLE])
    name, num_images, image_shape = description
    return cls(Description(name, num_images, tuple(image_shape)), *others)

  def variables(self) -> dict[str, str]:
    """The environment variables to set for processes of this site."""
    return {_VARIABLE: json.dumps(self)}

  def read(self, dataset: sites.SiteDataset) -> tf.Tensor:
    """Creates a handle's dataset from this site's images: a variant tensor."""
    name, num_images, image_shape = self.description
    if (dataset.site, dataset.image_shape) != (name, image_shape):
      raise errors.SiteError(
        f'{name} was asked for images of {dataset.site} with shape'
        f' {dataset.image_shape}'
      )
    try:
      images = np.fromfile(self.images, np.uint8)
    except OSError as error:
      # The full message would reveal the path, which is private.
      raise errors.SiteAwayError(
        f'{name} cannot read its images: {error.strerror}'
      ) from None
    return tf.data.experimental.to_variant(
      tf.data.Dataset.from_tensors(
        {
          **dataset.fields,
          sites.IMAGE: images.reshape(num_images, *image_shape),
        }
      )
    )

  def check_program(
    self, block: tff.framework.ComputationBuildingBlock
  ) -> None:
    """Checks that a program may run here, and tells the site's operator."""
    found = graph_digest.digest(block)
    if self.approved is not None and found not in self.approved:
      self._refuse(f'program {found}, which --approved of launch.site lacks')
    result_type = block.type_signature.result
    if private_api.type_analysis.contains(result_type, _may_be_images):
      self._refuse(f'program {found}, which returns images: {result_type}')
    self._say(f'runs program {found}')

  def check_inputs(self, messages: Sequence[Any]) -> None:
    """Checks that encoded inputs contain no code, if programs need approval."""
    if self.approved is not None and ray_values.has_graph(messages):
      self._refuse('a dataset, whose code --approved of launch.site lacks')

  def _refuse(self, what: str) -> NoReturn:
    line = f'refuses {what}'
    self._say(line)
    raise errors.SiteError(f'{self.description.name} {line}')

  def _say(self, line: str) -> None:
    with contextlib.suppress(OSError), open(self.messages, 'w') as file:
      file.write(f'{line}\n')


def find_problem(
  name: str, image_shape: sites.ImageShape, found: Description | None
) -> str | None:
  """Why a site with the description `found` is unusable; None if usable."""
  if found is None or found.name != name:
    return 'it was not started by launch.site'
  if found.image_shape == image_shape:
    return None
  ours, theirs = (
    'x'.join(map(str, s)) for s in (image_shape, found.image_shape)
  )
  return (
    f'its images are of {theirs}, those of this program of {ours}; start'
    ' launch.site with the same --image_size and --gray'
  )


def _may_be_images(part: tff.Type) -> bool:
  """Whether a part of a result type may hold images: uint8, or a dataset."""
  if isinstance(part, tff.SequenceType):
    return True
  return (
    isinstance(part, tff.TensorType)
    and part.dtype == np.uint8
    and (part.shape is None or len(part.shape) >= _IMAGE_RANK)
  )
