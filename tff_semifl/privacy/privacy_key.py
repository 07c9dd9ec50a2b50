# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The secret that noise and cohorts of a private run follow from.

Differential privacy holds against whoever cannot tell the noise, and the gain
of sampling against whoever cannot tell who took part. Everything else that is
random in a run follows from its seed, which is public.
"""

import hashlib
import hmac
import secrets

NUM_BYTES = 32


class PrivacyKey:
  """256 bits that are in no log: they are not part of its `repr`."""

  def __init__(self, secret: bytes):
    """Initializes a key that was drawn before; see `draw`.

    Args:
      secret: `NUM_BYTES` bytes.

    Raises:
      ValueError: If these are more or fewer.
    """
    if len(secret) != NUM_BYTES:
      raise ValueError(f'a key has {NUM_BYTES} bytes, not {len(secret)}')
    self._secret = bytes(secret)

  @classmethod
  def draw(cls) -> 'PrivacyKey':
    """Returns a new key, from the operating system's generator."""
    return cls(secrets.token_bytes(NUM_BYTES))

  @property
  def secret(self) -> bytes:
    """The key itself, for the file that it is kept in."""
    return self._secret

  @property
  def cohort_seed(self) -> int:
    """The seed of cohorts and dropouts, 0 to 2**256 - 1.

    NumPy's generators make 128 bits of it.
    """
    return int.from_bytes(self.derive('cohorts', 32), 'little')

  def derive(self, purpose: str, num_bytes: int) -> bytes:
    """Returns a key for one purpose, which tells nothing of the others.

    Args:
      purpose: What for, up to 16 ASCII characters.
      num_bytes: Its length, from 1 to 64. It is BLAKE2b, keyed by the secret.
    """
    return hashlib.blake2b(
      key=self._secret, person=purpose.encode(), digest_size=num_bytes
    ).digest()

  def __eq__(self, other: object) -> bool:
    return isinstance(other, PrivacyKey) and hmac.compare_digest(
      self._secret, other.secret
    )

  def __repr__(self) -> str:
    return 'PrivacyKey(secret)'
