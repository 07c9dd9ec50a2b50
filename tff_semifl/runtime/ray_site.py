# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The site that a process of a Ray cluster works at.

`launch.site` says in an environment variable of its machine's processes where
the images are. They are read there, and nowhere else.
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
from tff_semifl.runtime import graphs
from tff_semifl.runtime import ray_values
from tff_semifl.runtime import sites

_VARIABLE = 'TFF_SEMIFL_SITE'
# Images have height, width and channels.
_IMAGE_RANK = 3


class Description(NamedTuple):
  """All that the program which directs training is told of a site.

  Attributes:
    name: Its name.
    num_images: The number of its images.
    image_shape: Their height, width and channels.
  """

  name: str
  num_images: int
  image_shape: sites.ImageShape


class Site(NamedTuple):
  """A site, as processes of its machine know it.

  Attributes:
    description: What others are told of it.
    images: A file with the images, uint8, one after the other.
    messages: A file that takes lines for whoever runs the site.
    approved: The hashes of the programs that it runs; None for any.
  """

  description: Description
  images: str
  messages: str
  approved: Sequence[str] | None

  @classmethod
  def here(cls) -> 'Site | None':
    """Returns the site of this process, None if it is at no site."""
    if _VARIABLE not in os.environ:
      return None
    description, *others = json.loads(os.environ[_VARIABLE])
    name, num_images, image_shape = description
    return cls(Description(name, num_images, tuple(image_shape)), *others)

  def variables(self) -> dict[str, str]:
    """Returns the environment of processes that work at this site."""
    return {_VARIABLE: json.dumps(self)}

  def read(self, dataset: sites.SiteDataset) -> tf.Tensor:
    """Returns the variant tensor of a dataset.

    Args:
      dataset: What stands for it.

    Raises:
      errors.SiteError: It is of another site.
      errors.SiteAwayError: The images cannot be read: they end with
        `launch.site`, which processes of its machine may outlive.
    """
    name, num_images, image_shape = self.description
    if (dataset.site, dataset.image_shape) != (name, image_shape):
      raise errors.SiteError(
        f'{name} was asked for images of {dataset.site} with shape'
        f' {dataset.image_shape}'
      )
    try:
      images = np.fromfile(self.images, np.uint8)
    except OSError as error:
      # Its text has the path, which is nobody else's business.
      reason = error.strerror
      raise errors.SiteAwayError(
        f'{name} cannot read its images: {reason}'
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
    """Checks that a program may be run here, and says so there.

    Args:
      block: The program.

    Raises:
      errors.SiteError: It may not.
    """
    found = graphs.digest(block)
    if self.approved is not None and found not in self.approved:
      self._refuse(f'program {found}, which --approved of launch.site lacks')
    result_type = block.type_signature.result
    if private_api.type_analysis.contains(result_type, _may_be_images):
      self._refuse(f'program {found}, which returns images: {result_type}')
    self._say(f'runs program {found}')

  def check_inputs(self, messages: Sequence[Any]) -> None:
    """Checks that nothing runs here that was sent beside a program.

    Args:
      messages: What `ray_values.encode` has made of inputs of the program.

    Raises:
      errors.SiteError: One has the graph of a dataset, which is code, and only
        programs that were approved may run.
    """
    if self.approved is not None and ray_values.has_graph(messages):
      self._refuse('code that came beside a program: the graph of a dataset')

  def _refuse(self, what: str) -> NoReturn:
    line = f'refuses {what}'
    self._say(line)
    raise errors.SiteError(f'{self.description.name} {line}')

  def _say(self, line: str) -> None:
    """Tells whoever runs the site."""
    with contextlib.suppress(OSError), open(self.messages, 'w') as file:
      file.write(f'{line}\n')


def find_problem(
  name: str, image_shape: sites.ImageShape, found: Description | None
) -> str | None:
  """Returns why a site cannot be used, None if it can.

  Args:
    name: Its name.
    image_shape: Height, width and channels that its images should have.
    found: Its own description; None if a process there knows of no site.
  """
  if found is None or found.name != name:
    return 'it was not started by launch.site'
  if found.image_shape == image_shape:
    return None
  height, width, num_channels = image_shape
  return (
    f'its images are of {_show(found.image_shape)}, those of this program of'
    f' {_show(image_shape)}; start launch.site with'
    f' --image_size={height}x{width} --{"" if num_channels == 1 else "no"}gray'
  )


def _show(image_shape: sites.ImageShape) -> str:
  return 'x'.join(map(str, image_shape))


def _may_be_images(part: tff.Type) -> bool:
  """Returns whether a part of a result may be images, or what yields them."""
  if isinstance(part, tff.SequenceType):
    return True
  return (
    isinstance(part, tff.TensorType)
    and part.dtype == np.uint8
    and (part.shape is None or len(part.shape) >= _IMAGE_RANK)
  )
