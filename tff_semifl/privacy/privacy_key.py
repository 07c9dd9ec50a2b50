# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The secret key from which noise and cohorts of a private run follow.

Differential privacy assumes that the noise is unknown, and amplification by
sampling that the cohorts are. All other random numbers of a run follow from its
public seed.
"""

import hashlib
import hmac
import secrets

NUM_BYTES = 32


class PrivacyKey:
  """A secret of 256 bits, whose `repr` does not show it."""

  def __init__(self, secret: bytes):
    """Initializes a key from `NUM_BYTES` bytes that `draw` drew."""
    if len(secret) != NUM_BYTES:
      raise ValueError(f'a key has {NUM_BYTES} bytes, not {len(secret)}')
    self._secret = bytes(secret)

  @classmethod
  def draw(cls) -> 'PrivacyKey':
    """Draws a new key from the operating system's generator."""
    return cls(secrets.token_bytes(NUM_BYTES))

  @property
  def secret(self) -> bytes:
    """The secret itself, for its file."""
    return self._secret

  @property
  def cohort_seed(self) -> int:
    """The seed of cohorts and dropouts, 0 to 2**256 - 1."""
    return int.from_bytes(self.derive('cohorts', 32), 'little')

  def derive(self, purpose: str, num_bytes: int) -> bytes:
    """Derives a key by BLAKE2b that reveals nothing of other purposes' keys."""
    return hashlib.blake2b(
      key=self._secret, person=purpose.encode(), digest_size=num_bytes
    ).digest()

  def __eq__(self, other: object) -> bool:
    return isinstance(other, PrivacyKey) and hmac.compare_digest(
      self._secret, other.secret
    )

  def __repr__(self) -> str:
    return 'PrivacyKey(secret)'
