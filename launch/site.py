# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

r"""Takes part in training as a site, whose images stay on this machine.

Run this program on the site's machine. The machine needs the same packages as
the training program, and the token of the Ray cluster:

  python -m launch.site --address=hostA:6379 --name=site_3 \
    --image_dir=photos/site_3 --image_size=64

Images are read and scaled first. Then the machine belongs to the Ray cluster at
--address until Ctrl-C. The site is a client of each program that has
--task=image_folder and the site's name in --sites. The site prints a line, with
a digest, for each program that runs on it. With --approved, the site runs
only approved programs, whose digests launch.train --dry_run lists.
"""

import dataclasses
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import threading

from tasks import image_folder
from tff_semifl import runtime
from tff_semifl import settings
from tff_semifl.cli import program
from tff_semifl.data import image_folders
from tff_semifl.experiment import image_task
from tff_semifl.runtime import errors
from tff_semifl.runtime import sites
from tff_semifl.runtime import tied_process
from tff_semifl.runtime.ray import options as ray_options
from tff_semifl.runtime.ray import site as ray_site

_STOP_SECONDS = 10


def check_cluster(address: str) -> None:
  """Checks `RAY_AUTH_MODE`, and that a server listens at host:port."""
  ray_options.prepare(is_local=False)
  # TLS is not enough: Ray's port for packages of programs does not use TLS.
  if os.environ.get('RAY_AUTH_MODE') != 'token':
    raise errors.WorkerError(
      'whoever reaches this machine could read its images: have all machines of'
      ' the cluster use a token, RAY_AUTH_MODE=token, in addition to TLS'
      ' (docs/cluster.md)'
    )
  # Importing Ray takes a second.
  from tff_semifl.runtime.ray import cluster as ray_cluster

  ray_cluster.check_address(address)


def print_lines(name: str) -> str:
  """Prints the lines of a new pipe after the site's name; returns its path.

  Other processes of this user can open the path.
  """
  reader, writer = os.pipe()

  def pass_on():
    with open(reader) as lines:
      for line in lines:
        print(f'{name} {line}', end='', flush=True)

  threading.Thread(target=pass_on, daemon=True).start()
  return f'/proc/{os.getpid()}/fd/{writer}'


def join(
  address: str, here: ray_site.Site, node_ip_address: str | None = None
) -> None:
  """Joins the cluster at host:port, until this thread is interrupted.

  `node_ip_address` is the address of this machine for the cluster; by default,
  the address of the interface that reaches the cluster.
  """
  resource = f'{ray_options.SITE_RESOURCE}{here.description.name}'
  command = [
    *(sys.executable, '-m', 'ray.scripts.scripts', 'start', '--block'),
    f'--address={address}',
    f'--resources={json.dumps({resource: 1})}',
    # Only tasks of this site run here.
    '--num-cpus=0',
    '--disable-usage-stats',
  ]
  if node_ip_address is not None:
    command.append(f'--node-ip-address={node_ip_address}')
  with tempfile.TemporaryFile('w+') as log:
    process = subprocess.Popen(
      tied_process.tied_command(command),
      env={**os.environ, **here.variables()},
      stdin=subprocess.DEVNULL,
      stdout=log,
      stderr=log,
      # Ctrl-C reaches only this process, which ends Ray in order.
      start_new_session=True,
    )
    try:
      process.wait()
    finally:
      process.terminate()
      try:
        process.wait(_STOP_SECONDS)
      except subprocess.TimeoutExpired:
        process.kill()
    log.seek(0)
    lines = log.read().strip().splitlines() or ['']
    raise errors.WorkerError(
      f'this machine is no longer in the cluster: {lines[-1].strip()}'
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class SiteSettings(settings.Settings):
  """The settings of a site."""

  name: str | None = settings.setting(
    None,
    'Name of the site. It must be given, and differ from the names of other'
    ' sites.',
    settings.Values(sites.NAME_DESCRIPTION, sites.is_name),
  )
  address: str | None = settings.setting(
    None,
    'The Ray cluster to join, as host:port. It must be given.',
    settings.Values('host:port', re.compile(r'[^:]+:\d{1,5}').fullmatch),
  )
  node_ip_address: str | None = settings.setting(
    None,
    'Address by which the other machines of the cluster reach this machine. By'
    ' default the address of the interface that leads to the cluster.',
  )
  image_dir: str | None = settings.setting(
    None, 'Folder of the images, without subfolders. It must be given.'
  )
  image_size: str = settings.setting(
    '64',
    'Size of images after scaling, in pixels: 64, or height and width, 48x64;'
    ' the same as in the training program.',
    image_folder.SIZES,
  )
  gray: bool = settings.setting(
    False,
    'Whether images are gray, with one channel; the same as in the training'
    ' program.',
  )
  approved: str | None = settings.setting(
    None,
    'File with the digests of approved programs, such as the output of'
    ' launch.train --dry_run. By default all programs may run.',
  )


def main(site: SiteSettings) -> None:
  """Reads the images and joins the cluster."""
  for name in ('name', 'address', 'image_dir'):
    if getattr(site, name) is None:
      raise settings.SettingError(name, None, 'it must be given')
  approved = None if site.approved is None else read_approved(site.approved)
  with settings.blame('address', site.address, runtime.WorkerError):
    check_cluster(site.address)
  form = image_folder.create_form(site.image_size, gray=site.gray)
  with image_task.blame_data(site, 'image_dir'):
    # The images are in an unnamed file, which disappears with this process.
    found = image_folders.read_client_folder(site.image_dir, form)
  images = found.images
  print(
    f'{site.name}: {len(images)} images of {"x".join(map(str, form.shape))}, of'
    f' which {found.num_resized} had another size; joins {site.address},'
    ' Ctrl-C leaves',
    flush=True,
  )
  description = ray_site.Description(site.name, len(images), form.shape)
  here = ray_site.Site(
    description, images.filename, print_lines(site.name), approved
  )
  try:
    join(site.address, here, site.node_ip_address)
  except runtime.WorkerError as error:
    raise settings.SettingError(
      'address', site.address, f'{error}; the same command joins again'
    ) from error


def read_approved(path: str) -> list[str]:
  """The digests in a file, 64 hexadecimal digits each."""
  with settings.blame('approved', path, OSError, ValueError):
    found = re.findall(r'\b[0-9a-f]{64}\b', pathlib.Path(path).read_text())
    if not found:
      raise ValueError('has no digest, 64 hexadecimal digits')
  return found


if __name__ == '__main__':
  program.run(main, SiteSettings(), interrupted='left the cluster')
