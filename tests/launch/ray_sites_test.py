# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of sites whose images stay on their machines."""

import asyncio
import dataclasses
import json
import os
import pathlib
import re
import shutil
import signal

from absl.testing import absltest
import numpy as np
import PIL.Image
import psutil
import pytest

from tests import small_digits
from tests.experiment import saved_run
from tests.launch import process_memory
from tests.launch import programs
from tests.launch import small_photos
from tests.runtime import ray_machines
from tff_semifl import runtime
from tff_semifl import settings
from tff_semifl.cli import commands
from tff_semifl.data import pipelines
from tff_semifl.experiment import checkpoints
from tff_semifl.experiment import experiment_folder
from tff_semifl.experiment import plan
from tff_semifl.experiment import site_shares
from tff_semifl.experiment import training as training_lib
from tff_semifl.runtime import sites

_SITES = ('site_1', 'site_2')
_NUM_IMAGES = 6
_SIZE = 16
_SETTINGS = {
  'task': 'tests.launch.small_photos:SmallPhotos',
  'gray': True,
  'image_size': str(_SIZE),
  'experiment_name': 'small',
  'tensorboard': False,
}
_OF_SEMIFL = {
  'model': small_digits.SETTINGS['model'],
  'client_epochs': 1,
  'server_epochs': 1,
  'confidence_threshold': 0.5,
  'total_rounds': 10000,
}


def _write_images(folder, generator, first_row=None):
  """Writes images of noise that share their first row of pixels."""
  folder.mkdir(parents=True)
  for name in range(_NUM_IMAGES):
    image = generator.integers(0, 256, (_SIZE, _SIZE), dtype=np.uint8)
    if first_row is not None:
      image[0] = first_row
    PIL.Image.fromarray(image).save(folder / f'{name}.png')


def _rows(folder):
  """The metrics of each round; none before the first round."""
  is_there = (folder / 'metrics.csv').exists()
  return saved_run.read_rows(folder) if is_there else []


def _programs(site):
  """The digests of the programs that a site reports."""
  return re.findall('runs program ([0-9a-f]{64})\n', site.output)


def _store(site):
  """The process with the object store of a site."""
  [found] = [
    each.pid
    for each in psutil.Process(site.process.pid).children(recursive=True)
    if each.name() == 'raylet'
  ]
  return found


@pytest.mark.slow
class SitesTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.folder = pathlib.Path(self.create_tempdir().full_path)
    self.images = self.folder / 'together'
    generator = np.random.default_rng()
    for name in ('server/a', 'server/b', 'test/a', 'test/b'):
      _write_images(self.images / name, generator)
    # The files of the training program.
    shutil.copytree(self.images, self.folder / 'apart')
    self.row = generator.integers(0, 256, _SIZE, dtype=np.uint8)
    for name in _SITES:
      _write_images(self.images / 'clients' / name, generator, self.row)
    self.machines = ray_machines.Machines()
    self.addCleanup(self.machines.stop)
    # For the server's own work.
    self.machines.add(1)

  def _start(self, *arguments):
    program = programs.Program(*arguments)
    self.addCleanup(program.process.kill)
    return program

  def _start_site(self, name, *flags):
    """Starts a site, and waits until the site has joined."""
    address = self.machines.new_address()
    file = pathlib.Path(self.create_tempfile().full_path)
    # Other processes could see the arguments of this process.
    file.write_text(f'--image_dir={self.images / "clients" / name}')
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
    self._wait_until(site, lambda: self.machines.has(address))
    return site

  def _wait_until(self, program, condition):
    """Waits until a condition on a running program holds."""

    def is_true():
      self.assertIsNone(program.process.poll(), program.output)
      return condition()

    try:
      ray_machines.wait_until(is_true, 200)
    except AssertionError as error:
      error.add_note(program.output)
      raise

  def _train_here(self, experiment, num_rounds):
    """Trains with all images in one place; returns the metrics."""
    task = small_photos.SmallPhotos(
      image_dir=str(self.images),
      gray=experiment.settings.data.task.gray,
    ).create()
    data = experiment.settings.data.load(task)
    program = dataclasses.replace(
      experiment,
      clients=pipelines.ClientPopulation(
        data.unlabeled,
        data.shares,
        clients_per_round=experiment.clients.clients_per_round,
        seed=experiment.settings.seed,
      ),
      total_rounds=num_rounds,
    )
    with runtime.simulation_context():
      asyncio.run(
        training_lib.train(
          program,
          checkpoints=checkpoints.Checkpoints(
            self.folder / 'states', num_kept=1
          ),
          metrics_manager=experiment_folder.MetricsFile(
            self.folder / 'metrics.csv'
          ),
          on_start=lambda first_round: None,
          on_round=lambda round_num, metrics: None,
        )
      )
    return _rows(self.folder)

  def _create_settings(self):
    return {
      **_SETTINGS,
      'image_dir': str(self.folder / 'apart'),
      'output_dir': str(self.folder / 'results'),
      'runtime': 'ray',
      'ray_address': self.machines.address,
      'sites': ('site_2', 'site_1'),
    }

  def _approve(self, digests):
    """The flag that approves programs."""
    file = self.create_tempfile(content=json.dumps(digests))
    return f'--approved={file.full_path}'

  def _train(self, system, changes):
    return self._start(
      *('launch.train', system, '--threads_per_operation=1'),
      *(f'--{name}={settings.show(each)}' for name, each in changes.items()),
    )

  def test_client_priors_find_a_prior_of_class_shares_by_what_is_sent(self):
    changes = {**self._create_settings(), 'share_prior': True}
    experiment = commands.create('client_priors', changes).create_experiment()
    approved = plan.describe(experiment)['programs_of_sites']
    running = [self._start_site(s, self._approve(approved)) for s in _SITES]
    training = self._train('client_priors', changes)
    self.assertEqual(training.process.wait(300), 0, training.output)
    for site in running:
      self.assertCountEqual(_programs(site), approved)
    folder = self.folder / 'results' / 'small'
    self.assertIsNotNone(site_shares.read(folder))

  def test_training(self):
    changes = {**self._create_settings(), **_OF_SEMIFL}
    # Operations have one thread in this process, too (see conftest.py).
    experiment = commands.create('semifl', changes).create_experiment()
    described = plan.describe(experiment)
    self.assertEqual(described['sites'], ('site_2', 'site_1'))
    # Other processes build programs with the same digests.
    [program] = described['programs_of_sites']
    first = self._start_site('site_1', self._approve([program]))
    second = self._start_site('site_2')
    training = self._train('semifl', changes)
    folder = self.folder / 'results' / 'small'

    def wait_for_clients(number):
      def are_there():
        rows = _rows(folder)
        return len(rows) > 3 and (
          float(rows[-1]['client/num_participating']) == number
        )

      self._wait_until(training, are_there)

    wait_for_clients(2)
    training.process.send_signal(signal.SIGSTOP)

    with self.subTest('numbers are those of images in one place'):
      rows = _rows(folder)[:4]
      self.assertEqual(rows, self._train_here(experiment, len(rows) - 1))

    with self.subTest('no image leaves its site'):
      patterns = [
        self.row.tobytes(),
        self.row[:4].astype(np.float32).tobytes(),
        str(self.images).encode(),
      ]
      # The search finds what is in this process.
      found = process_memory.find(os.getpid(), [self.row.tobytes()])
      self.assertLen(found, 1)
      machines = self.machines.processes()
      for pid in (training.process.pid, *machines):
        self.assertEmpty(process_memory.find(pid, patterns))
      for pid in (*machines, _store(first), _store(second)):
        self.assertEmpty(process_memory.find_shared(pid, patterns))
      for file in filter(
        pathlib.Path.is_file, (self.folder / 'results').rglob('*')
      ):
        content = file.read_bytes()
        self.assertFalse(any(each in content for each in patterns), file)

    with self.subTest('site that is lost drops out'):
      for site in (first, second):
        self.assertEqual(_programs(site), [program])
      second.process.kill()
      training.process.send_signal(signal.SIGCONT)
      wait_for_clients(1)
      self.assertRegex(training.output, 'site_2 at .* is lost')

    with self.subTest('site that is back takes part again'):
      second = self._start_site('site_2')
      wait_for_clients(2)
      self.assertRegex(training.output, 'site_2 at .* has joined')

    with self.subTest('site that is back, and has not approved the program'):
      second.process.kill()
      wait_for_clients(1)
      second = self._start_site('site_2', self._approve(['0' * 64]))
      self.assertEqual(training.process.wait(200), 1)
      problem = f'refuses program {program}, which --approved of launch.site'
      self.assertRegex(
        training.output,
        f'flag --sites=site_2,site_1: site_2 {problem} lacks; the same command'
        ' goes on from the last complete round\n$',
      )
      self.assertIn(f'site_2 {problem}', second.output)

    with self.subTest('sites that are missing'):
      for names, is_new, missing in (
        (('east', *_SITES), True, 'east is'),
        (('east', 'north'), False, 'east, north are'),
      ):
        federation = sites.Federation(names, (_SIZE, _SIZE, 1), is_new)
        with (
          self.assertRaisesRegex(
            runtime.SiteError,
            f'^{missing} not in the cluster, whose sites are: site_1, site_2$',
          ),
          runtime.simulation_context(
            ray=runtime.RayOptions(
              address=self.machines.address, federation=federation
            ),
          ),
        ):
          pass

    with self.subTest('site that leaves'):
      processes = psutil.Process(first.process.pid).children(recursive=True)
      first.process.send_signal(signal.SIGINT)
      self.assertEqual(first.process.wait(30), 130)
      _, alive = psutil.wait_procs(processes, timeout=10)
      self.assertEmpty(alive)
      self.assertEndsWith(first.output, '\nleft the cluster\n')


if __name__ == '__main__':
  absltest.main()
