# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests that workers and drivers let in whom they should, and nobody else."""

import pathlib
import shutil
import subprocess
import sys
import unittest

from absl.testing import absltest
import numpy as np
import tensorflow_federated as tff

from tests.runtime import worker_processes
from tff_semifl import runtime


def _openssl(*arguments):
  subprocess.run(['openssl', *arguments], check=True, capture_output=True)


def _create_authority(folder, name):
  """Writes key and certificate of an authority; returns their paths."""
  key, certificate = folder / f'{name}.key', folder / f'{name}.pem'
  _openssl(
    *('req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256'),
    *('-nodes', '-days', '2', '-subj', f'/CN={name}'),
    *('-keyout', key, '-out', certificate),
  )
  return key, certificate


def _create_certificate(folder, name, authority, addresses=''):
  """Writes a key and a certificate that an authority signed."""
  key, certificate = folder / f'{name}.key', folder / f'{name}.pem'
  request, extensions = folder / f'{name}.csr', folder / f'{name}.ext'
  authority_key, authority_certificate = authority
  extensions.write_text(f'subjectAltName={addresses}\n' if addresses else '\n')
  _openssl(
    *('req', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'),
    *('-subj', f'/CN={name}', '-keyout', key, '-out', request),
  )
  _openssl(
    *('x509', '-req', '-days', '2', '-in', request, '-out', certificate),
    *('-CA', authority_certificate, '-CAkey', authority_key),
    *('-CAcreateserial', '-extfile', extensions),
  )
  return certificate, key


@unittest.skipIf(shutil.which('openssl') is None, 'there is no openssl')
class TlsTest(absltest.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.folder = pathlib.Path(absltest.get_default_test_tmpdir(), 'tls')
    cls.folder.mkdir(parents=True, exist_ok=True)
    ours = _create_authority(cls.folder, 'ours')
    theirs = _create_authority(cls.folder, 'theirs')
    cls.authority = ours[1]
    cls.worker = _create_certificate(
      cls.folder, 'worker', ours, 'IP:127.0.0.1,IP:10.9.0.2'
    )
    cls.driver = _create_certificate(cls.folder, 'driver', ours)
    cls.stranger = _create_certificate(
      cls.folder, 'stranger', theirs, 'IP:127.0.0.1'
    )
    cls.elsewhere = _create_certificate(
      cls.folder, 'elsewhere', ours, 'IP:10.9.9.9'
    )

  def _tls(self, pair):
    return runtime.Tls(
      *runtime.read_certificate(*pair), runtime.read_authority(self.authority)
    )

  def _add_one(self, server, tls):
    add = tff.tensorflow.computation(lambda x: x + 1, np.int32)
    with runtime.simulation_context(
      'remote', workers=[server.address], tls=tls, silence_seconds=10
    ):
      return add(1)

  def _serve(self, pair):
    server = runtime.Server(tls=self._tls(pair))
    self.addCleanup(server.stop)
    return server

  def test_both_ends_with_certificates(self):
    self.assertEqual(
      self._add_one(self._serve(self.worker), self._tls(self.driver)), 2
    )

  def test_driver_without_certificate_is_refused(self):
    server = self._serve(self.worker)
    for tls in (None, self._tls(self.stranger)):
      with self.assertRaisesRegex(runtime.WorkerError, 'no worker is left'):
        self._add_one(server, tls)
    # It was not the server that was at fault.
    self.assertEqual(self._add_one(server, self._tls(self.driver)), 2)

  def test_worker_with_a_certificate_of_another_is_refused(self):
    for pair in (self.stranger, self.elsewhere):
      with self.assertRaisesRegex(runtime.WorkerError, 'no worker is left'):
        self._add_one(self._serve(pair), self._tls(self.driver))
    with self.assertRaisesRegex(runtime.WorkerError, 'no worker is left'):
      server = runtime.Server()
      self.addCleanup(server.stop)
      self._add_one(server, self._tls(self.driver))

  def test_files_are_checked(self):
    with self.assertRaisesRegex(ValueError, 'not a certificate and its key'):
      runtime.read_certificate(self.worker[0], self.driver[1])
    with self.assertRaisesRegex(ValueError, 'driver.key is not a certificate'):
      runtime.read_authority(self.driver[1])
    with self.assertRaises(FileNotFoundError):
      runtime.read_authority(self.folder / 'nothing')

  def test_other_machine(self):
    tried = subprocess.run(
      ['unshare', '-rn', 'unshare', '-n', 'ip', 'link'], capture_output=True
    )
    if tried.returncode:
      self.skipTest(
        f'networks cannot be made here: {tried.stderr.decode().strip()}'
      )
    done = subprocess.run(
      [
        *('unshare', '-rn', sys.executable, '-m', 'tests.runtime.two_networks'),
        *(*self.driver, *self.worker, self.authority),
      ],
      env=worker_processes.environment(),
      capture_output=True,
      text=True,
      timeout=120,
    )
    self.assertEqual(done.stdout, '10.9.0.2:8001: 6\n', done.stderr)


if __name__ == '__main__':
  absltest.main()
