# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

r"""Takes part in training as a site, whose images stay on this machine.

On the site's machine, with the packages of the program that directs training
and the token of its cluster:

  python -m launch.site --address=hostA:6379 --name=site_3 \
    --image_dir=photos/site_3 --image_size=64

Images are read and scaled first. The machine then belongs to the Ray cluster at
--address until Ctrl-C: the site is a client of each program with
--task=image_folder and the site's name in --sites. For each program that runs
here, a line has its hash.
"""

import dataclasses
import pathlib
import re

from tasks import image_folder
from tff_semifl import runtime
from tff_semifl import settings
from tff_semifl.command_line import setting_program
from tff_semifl.data import image_folders
from tff_semifl.experiments import image_task
from tff_semifl.runtime import sites
from tff_semifl.runtime.ray import joining as ray_joining
from tff_semifl.runtime.ray import site as ray_site

_HASH = re.compile('[0-9a-f]{64}')


@dataclasses.dataclass(frozen=True, kw_only=True)
class SiteSettings(settings.Settings):
  """The settings of a site."""

  name: str | None = settings.setting(
    None,
    'Name of the site. It must be given, and no other site may have it.',
    settings.Values(sites.NAME_DESCRIPTION, sites.is_name),
  )
  address: str | None = settings.setting(
    None,
    'The Ray cluster to join, as host:port. It must be given.',
    settings.Values('host:port', re.compile(r'[^:]+:\d{1,5}').fullmatch),
  )
  node_ip_address: str | None = settings.setting(
    None,
    'Address by which the other machines of the cluster reach this one. By'
    ' default that of the interface that leads to them.',
  )
  image_dir: str | None = settings.setting(
    None, 'Folder of the images, without folders in it. It must be given.'
  )
  image_size: str = settings.setting(
    '64',
    'Size in pixels that images are scaled to, 64 or height and width, 48x64;'
    ' the same as in the program that trains.',
    image_folder.SIZES,
  )
  reading: image_folder.Reading = image_folder.Reading()
  approved: tuple[str, ...] = settings.setting(
    (),
    'Comma-separated hashes of programs that may run here, or names of files'
    ' with a hash in each line; --dry_run of launch.train prints them. Other'
    ' programs are refused. By default all may run.',
  )


def main(site: SiteSettings) -> None:
  """Reads the images and joins the cluster."""
  for name in ('name', 'address', 'image_dir'):
    if getattr(site, name) is None:
      raise settings.SettingError(name, None, 'it must be given')
  approved = _read_approved(site.approved)
  with settings.blame('address', site.address, runtime.WorkerError):
    ray_joining.check_cluster(site.address)
  form = site.reading.form(site.image_size)
  with image_task.blame_data(site, 'image_dir'):
    # An unnamed file, which disappears with this process.
    found = image_folders.read_client_folder(site.image_dir, form)
  images = found.images
  print(
    f'{site.name}: {len(images)} images of {"x".join(map(str, form.shape))}, of'
    f' which {found.num_resized} had another size and {found.num_transparent}'
    f' are transparent somewhere, on {site.reading.background}; joins'
    f' {site.address}, Ctrl-C leaves',
    flush=True,
  )
  description = ray_site.Description(site.name, len(images), form.shape)
  here = ray_site.Site(
    description, images.path, ray_joining.print_lines(site.name), approved
  )
  try:
    ray_joining.join(site.address, here, site.node_ip_address)
  except runtime.WorkerError as error:
    raise settings.SettingError(
      'address', site.address, f'{error}; the same command joins again'
    ) from error


def _read_approved(given: tuple[str, ...]) -> list[str] | None:
  """The approved hashes, None for any."""
  if not given:
    return None
  found = []
  with settings.blame('approved', given, OSError, ValueError):
    for each in given:
      if _HASH.fullmatch(each):
        found.append(each)
        continue
      for line in pathlib.Path(each).read_text().split():
        if not _HASH.fullmatch(line):
          raise ValueError(f'{each} has a line that is no hash: {line}')
        found.append(line)
  return found


if __name__ == '__main__':
  setting_program.run(
    'python -m launch.site',
    __doc__,
    lambda changes: settings.change(SiteSettings(), changes),
    main,
    interrupted='left the cluster',
  )
