# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Mutual TLS: either end shows a certificate and checks the other's."""

import ipaddress
import os
import pathlib
import ssl
from typing import NamedTuple

import grpc


class Tls(NamedTuple):
  """The certificates of one end, as the content of PEM files.

  Attributes:
    certificate: Its certificate. A worker's names the addresses that drivers
      know it by.
    key: The private key of the certificate.
    certificate_authority: Who has to have signed the other's certificate.
  """

  certificate: bytes
  key: bytes
  certificate_authority: bytes

  def to_channel_credentials(self) -> grpc.ChannelCredentials:
    """Returns the credentials of a driver."""
    return grpc.ssl_channel_credentials(
      self.certificate_authority, self.key, self.certificate
    )

  def to_server_credentials(self) -> grpc.ServerCredentials:
    """Returns the credentials of a worker."""
    return grpc.ssl_server_credentials(
      [(self.key, self.certificate)],
      self.certificate_authority,
      require_client_auth=True,
    )


def read_certificate(
  certificate: str | os.PathLike[str],
  key: str | os.PathLike[str],
) -> tuple[bytes, bytes]:
  """Reads a certificate and its key.

  Args:
    certificate: The PEM file of the certificate.
    key: The PEM file of its key, not encrypted.

  Returns:
    Their content.

  Raises:
    OSError: A file cannot be read.
    ValueError: They are not what they should be, or no pair.
  """
  content = pathlib.Path(certificate).read_bytes()
  key_content = pathlib.Path(key).read_bytes()
  # gRPC would report it at the first connection only, and without the reason.
  try:
    ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_cert_chain(
      certificate, key, password=''
    )
  except ssl.SSLError as error:
    raise ValueError(
      f'{certificate} and {key} are not a certificate and its key: {error}'
    ) from error
  return content, key_content


def read_authority(path: str | os.PathLike[str]) -> bytes:
  """Reads the certificate of a certificate authority.

  Args:
    path: The PEM file.

  Returns:
    Its content.

  Raises:
    OSError: The file cannot be read.
    ValueError: It is no certificate.
  """
  content = pathlib.Path(path).read_bytes()
  try:
    ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(path)
  except ssl.SSLError as error:
    raise ValueError(f'{path} is not a certificate: {error}') from error
  return content


def is_loopback(host: str) -> bool:
  """Returns whether only this machine can reach an address.

  Args:
    host: Its name or address.
  """
  if host == 'localhost':
    return True
  try:
    return ipaddress.ip_address(host).is_loopback
  except ValueError:  # A name may lead to any machine.
    return False
