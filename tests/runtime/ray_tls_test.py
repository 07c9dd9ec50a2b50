# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests that a Ray cluster with TLS and a token admits only its members."""

import os
import pathlib
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
import unittest

from absl.testing import absltest
import grpc
import pytest

from tests import forked_programs
from tests.runtime import ray_machines

_ASK = '/ray.rpc.NodeInfoGcsService/GetClusterId'


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


def _create_certificate(folder, name, authority, addresses):
  """Writes a key and a certificate that an authority signed."""
  key, certificate = folder / f'{name}.key', folder / f'{name}.pem'
  request, extensions = folder / f'{name}.csr', folder / f'{name}.ext'
  authority_key, authority_certificate = authority
  extensions.write_text(f'subjectAltName={addresses}\n')
  _openssl(
    *('req', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'),
    *('-subj', f'/CN={name}', '-keyout', key, '-out', request),
  )
  _openssl(
    *('x509', '-req', '-days', '2', '-in', request, '-out', certificate),
    *('-CA', authority_certificate, '-CAkey', authority_key),
    *('-CAcreateserial', '-extfile', extensions),
  )
  return key, certificate


def _unused_port():
  with socket.create_server(('', 0)) as probe:
    return probe.getsockname()[1]


@pytest.mark.slow
@unittest.skipIf(shutil.which('openssl') is None, 'there is no openssl')
class TLSTest(absltest.TestCase):
  def test_own_program_is_let_in_and_no_other(self):
    folder = pathlib.Path(self.create_tempdir().full_path)
    ip = ray_machines.ray.util.get_node_ip_address()
    ours = _create_authority(folder, 'ours')
    theirs = _create_authority(folder, 'theirs')
    addresses = f'IP:127.0.0.1,IP:{ip}'
    pair = _create_certificate(folder, 'machine', ours, addresses)
    stranger = _create_certificate(folder, 'stranger', theirs, addresses)
    token = secrets.token_hex(32)
    variables = {
      **ray_machines.variables(),
      'RAY_USE_TLS': '1',
      'RAY_TLS_SERVER_KEY': str(pair[0]),
      'RAY_TLS_SERVER_CERT': str(pair[1]),
      'RAY_TLS_CA_CERT': str(ours[1]),
      'RAY_AUTH_MODE': 'token',
      'RAY_AUTH_TOKEN': token,
    }
    address = f'{ip}:{_unused_port()}'
    self._start_machine(address, variables)

    def ask(key=None, certificate=None, authority=ours, metadata=()):
      """Asks for the id of the cluster, and returns the status."""
      if key is None:
        channel = grpc.insecure_channel(address)
      else:
        credentials = grpc.ssl_channel_credentials(
          authority[1].read_bytes(), key.read_bytes(), certificate.read_bytes()
        )
        channel = grpc.secure_channel(address, credentials)
      with channel:
        try:
          channel.unary_unary(_ASK)(b'', timeout=5, metadata=metadata)
        except grpc.RpcError as error:
          return error.code()
        return grpc.StatusCode.OK

    bearer = [('authorization', f'Bearer {token}')]
    ray_machines.wait_until(
      lambda: ask(*pair, metadata=bearer) is grpc.StatusCode.OK
    )
    unavailable = grpc.StatusCode.UNAVAILABLE
    with self.subTest('without certificate'):
      self.assertEqual(ask(metadata=bearer), unavailable)
    with self.subTest('with one of another authority'):
      self.assertEqual(ask(*stranger, metadata=bearer), unavailable)
    with self.subTest('with another authority for the other end'):
      self.assertEqual(
        ask(*pair, authority=theirs, metadata=bearer), unavailable
      )
    with self.subTest('without token'):
      self.assertEqual(ask(*pair), grpc.StatusCode.UNAUTHENTICATED)

    completed = forked_programs.run(
      'tests.runtime.ray_sum', address, variables=variables
    )
    self.assertEqual(completed.stdout, '14\n', completed.stderr)

  def _start_machine(self, address, variables):
    """Starts what `ray start` starts, on a machine with one CPU."""
    ip, port = address.split(':')
    # A short name, as sockets want it.
    folder = self.enterContext(tempfile.TemporaryDirectory(prefix='ray_'))
    command = [
      *(sys.executable, '-m', 'ray.scripts.scripts', 'start', '--head'),
      *('--block', f'--node-ip-address={ip}', f'--port={port}'),
      *('--num-cpus=1', '--include-dashboard=false'),
      f'--object-store-memory={10**8}',
      f'--temp-dir={folder}',
    ]
    log = self.enterContext(tempfile.TemporaryFile())
    machine = subprocess.Popen(
      command, env={**os.environ, **variables}, stdout=log, stderr=log
    )

    def stop():
      # The head takes the other machines with it.
      machine.terminate()
      machine.wait()

    self.addCleanup(stop)


if __name__ == '__main__':
  absltest.main()
