# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of sites whose images stay on their machines."""

import csv
import os
import pathlib
import re
import shutil
import signal
import tempfile

from absl.testing import absltest
import numpy as np
import PIL.Image

from tests import forked_programs
from tests import small_digits
from tests.launch import process_memory
from tests.runtime import ray_machines

_SITES = ('site_1', 'site_2')
_NUM_IMAGES = 6
_SIZE = 16
_SETTINGS = (
  '--task=tests.launch.small_photos:SmallPhotos',
  f'--model={small_digits.SETTINGS["model"]}',
  '--gray',
  f'--image_size={_SIZE}',
  '--client_epochs=1',
  '--server_epochs=1',
  '--confidence_threshold=0.5',
  # Until it is stopped.
  '--total_rounds=10000',
  '--threads_per_operation=1',
  '--experiment_name=small',
  '--tensorboard=false',
)
_HASH = '[0-9a-f]{64}'


class _Program:
  """A program, and what it has said so far."""

  def __init__(self, *arguments):
    self._log = tempfile.NamedTemporaryFile('r')
    with open(self._log.name, 'wb') as log:
      self.process = forked_programs.start(
        *arguments, stdout=log, stderr=log, variables=ray_machines.variables()
      )

  @property
  def output(self) -> str:
    return pathlib.Path(self._log.name).read_text()


def _write_images(folder, generator, number):
  """Writes images of noise, and returns a piece of each of their rows."""
  folder.mkdir(parents=True)
  rows = []
  for name in range(number):
    image = generator.integers(0, 256, (_SIZE, _SIZE), dtype=np.uint8)
    PIL.Image.fromarray(image).save(folder / f'{name}.png')
    rows.extend(image)
  return rows


def _rows(folder):
  """Returns what was measured in each round so far, but for times."""
  path = folder / 'small' / 'metrics.csv'
  if not path.exists():
    return []
  with path.open() as file:
    return [
      {name: cell for name, cell in row.items() if name != 'seconds'}
      for row in csv.DictReader(file)
    ]


class SitesTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.folder = pathlib.Path(self.create_tempdir().full_path)
    generator = np.random.default_rng(0)
    together, server = self.folder / 'together', self.folder / 'server'
    for name in ('server/a', 'server/b', 'test/a', 'test/b'):
      _write_images(together / name, generator, 5)
    shutil.copytree(together, server)
    self.rows = [
      row
      for name in _SITES
      for row in _write_images(together / 'clients' / name, generator, _NUM_IMAGES)
    ]
    self.machines = ray_machines.Machines()
    self.addCleanup(self.machines.stop)
    # For the own work of the server.
    self.machines.add(1)

  def _start(self, *arguments):
    program = _Program(*arguments)
    self.addCleanup(program.process.kill)
    return program

  def _start_site(self, name, *flags):
    """Starts a site, and waits until it is in the cluster."""
    address = self.machines.new_address()
    file = pathlib.Path(self.create_tempfile().full_path)
    # Processes of other programs may see the arguments of this one.
    file.write_text(
      f'--image_dir={self.folder / "together" / "clients" / name}\n'
    )
    site = self._start(
      'launch.site',
      f'--flagfile={file}',
      f'--name={name}',
      f'--address={self.machines.address}',
      f'--node_ip_address={address}',
      f'--image_size={_SIZE}',
      '--gray',
      *flags,
    )
    self.machines.wait_for(address)
    return site

  def _wait_for_rows(self, training, folder, number):
    """Waits until so many rounds are over; returns what was measured."""

    def is_over():
      self.assertIsNone(training.process.poll(), training.output)
      return len(_rows(folder)) >= number

    ray_machines.wait_until(is_over, 200)
    return _rows(folder)

  def test_training(self):
    together, apart = self.folder / 'one', self.folder / 'two'
    first = self._start_site('site_1')
    second = self._start_site('site_2')
    training = self._start(
      *('launch.train', 'semifl', *_SETTINGS, '--runtime=ray'),
      f'--ray_address={self.machines.address}',
      f'--image_dir={self.folder / "server"}',
      '--sites=site_2,site_1',
      f'--output_dir={apart}',
    )
    reference = self._start(
      *('launch.train', 'semifl', *_SETTINGS, f'--output_dir={together}'),
      f'--image_dir={self.folder / "together"}',
    )
    for program, folder in ((training, apart), (reference, together)):
      self._wait_for_rows(program, folder, 4)
      program.process.send_signal(signal.SIGSTOP)

    with self.subTest('numbers are those of images in one place'):
      found, expected = _rows(apart), _rows(together)
      number = min(len(found), len(expected))
      self.assertGreater(number, 3)
      self.assertEqual(found[:number], expected[:number])
      self.assertEqual(found[3]['client/num_participating'], '2.0')

    with self.subTest('no image leaves its site'):
      pixels = [row.tobytes() for row in self.rows]
      floats = [row[:4].astype(np.float32).tobytes() for row in self.rows]
      folder = str(self.folder / 'together').encode()
      patterns = [*pixels, *floats, folder]
      self.assertContainsSubset(
        [*pixels, folder],
        process_memory.find(reference.process.pid, patterns),
      )
      pids = [
        training.process.pid,
        *self.machines.processes(),
      ]
      for pid in pids:
        self.assertEmpty(process_memory.find(pid, patterns))
        self.assertEmpty(process_memory.find_shared(pid, patterns))


if __name__ == '__main__':
  absltest.main()
