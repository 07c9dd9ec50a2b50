# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Takes part in training as a site, whose images stay on this machine.

On a machine of the site, with the packages of the program that directs training
and the token of its cluster:

  python -m launch.site --address=hostA:6379 --name=site_3 \
    --image_dir=photos/site_3 --image_size=64

Images are read and scaled first. The machine is then one of the Ray cluster at
--address, until Ctrl-C: the site is a client of each program that has its name
in --sites, with --task=image_folder. Each program that it runs for them is
named in a line, by a hash.
"""

import dataclasses
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import threading

from tff_semifl import runtime
from tff_semifl import settings
from tff_semifl import sites
from tff_semifl import tied_process
from tff_semifl.data import image_files
from tff_semifl.data import image_folders
from tff_semifl.data import image_listing
from tff_semifl.launch import setting_program
from tff_semifl.runtime import ray_environment
from tff_semifl.runtime import ray_placement
from tff_semifl.runtime import ray_site
from tff_semifl.tasks import image_folder

_HASH = re.compile('[0-9a-f]{64}')
_STOP_SECONDS = 10


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
    'Address of this machine that the others of the cluster reach. By default'
    ' that of the interface by which it reaches them.',
  )
  image_dir: str | None = settings.setting(
    None, 'Folder of the images, without folders in it. It must be given.'
  )
  image_size: str = settings.setting(
    '64',
    'Size in pixels that images are scaled to, as the program that trains has'
    ' it: 64, or height and width, 48x64.',
    image_folder.SIZES,
  )
  reading: image_folder.Reading = image_folder.Reading()
  approved: tuple[str, ...] = settings.setting(
    (),
    'Hashes of the programs that may be run here, with commas, or names of'
    ' files with a hash in each line; --dry_run of launch.train prints them.'
    ' Others are refused. By default all are run.',
  )


def main(site: SiteSettings) -> None:
  """Runs the program.

  Args:
    site: The settings.

  Raises:
    settings.SettingError: A setting is missing or wrong, there is no cluster,
      or it has ended.
  """
  for name in ('name', 'address', 'image_dir'):
    if getattr(site, name) is None:
      raise settings.SettingError(name, None, 'it must be given')
  approved = _read_approved(site.approved)
  _check_ray(site.address)
  shape = (
    *image_folder.parse_size(site.image_size),
    site.reading.num_channels,
  )
  with (
    settings.blame('image_dir', site.image_dir, image_listing.ImageFolderError),
    settings.blame(
      'on_odd_size', site.reading.on_odd_size, image_listing.OddSizeError
    ),
  ):
    # The file has no name, and is gone when this process ends.
    images, num_resized = image_folders.read_client_folder(
      site.image_dir, shape, image_files.OnOddSize(site.reading.on_odd_size)
    )
  print(
    f'{site.name}: {len(images)} images of {"x".join(map(str, shape))}, of'
    f' which {num_resized} had another size; joins {site.address}, Ctrl-C'
    ' leaves',
    flush=True,
  )
  description = ray_site.Description(site.name, len(images), shape)
  _join(
    site,
    ray_site.Site(description, images.path, _print_lines(site.name), approved),
  )


def _check_ray(address: str) -> None:
  """Checks that there is a cluster, to which not everybody may speak."""
  with settings.blame('address', address, runtime.WorkerError):
    ray_environment.prepare(is_local=False)
  if (
    os.environ.get('RAY_AUTH_MODE') != 'token'
    and os.environ.get('RAY_USE_TLS') != '1'
  ):
    raise settings.SettingError(
      'address',
      address,
      'whoever reaches this machine could read its images: have all machines of'
      ' the cluster use a token, RAY_AUTH_MODE=token, and TLS'
      ' (docs/runtimes.md)',
    )
  # It takes a second to import.
  from tff_semifl.runtime import ray_cluster

  with settings.blame('address', address, runtime.WorkerError):
    ray_cluster.check_address(address)


def _read_approved(given: tuple[str, ...]) -> list[str] | None:
  """Returns the hashes that are approved, None for any."""
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


def _print_lines(name: str) -> str:
  """Prints the lines that processes of this site write to a file.

  Args:
    name: The name of the site, with which lines begin.

  Returns:
    The file, as other processes of this user can open it.
  """
  reader, writer = os.pipe()

  def print_lines():
    with open(reader) as lines:
      for line in lines:
        print(f'{name} {line}', end='', flush=True)

  threading.Thread(target=print_lines, daemon=True).start()
  return f'/proc/{os.getpid()}/fd/{writer}'


def _join(site: SiteSettings, here: ray_site.Site) -> None:
  """Is a machine of the cluster for as long as the cluster is there."""
  command = [
    *(sys.executable, '-m', 'ray.scripts.scripts', 'start', '--block'),
    f'--address={site.address}',
    f'--resources={{"{ray_placement.SITE_RESOURCE}{site.name}": 1}}',
    # Nobody else is to work here.
    '--num-cpus=0',
    '--disable-usage-stats',
  ]
  if site.node_ip_address is not None:
    command.append(f'--node-ip-address={site.node_ip_address}')
  with tempfile.TemporaryFile('w+') as log:
    process = subprocess.Popen(
      tied_process.tied_command(command),
      env={**os.environ, **here.variables()},
      stdin=subprocess.DEVNULL,
      stdout=log,
      stderr=log,
      # Ctrl-C is for this process, which ends the other in order.
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
    raise settings.SettingError(
      'address',
      site.address,
      f'this machine is no longer in the cluster: {lines[-1].strip()}; the same'
      ' command joins again',
    )


if __name__ == '__main__':
  setting_program.run(
    'python -m launch.site',
    __doc__,
    lambda changes: settings.change(SiteSettings(), changes),
    main,
    interrupted='left the cluster',
  )
