# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""SipHash-2-4 in Python.

References:
  Aumasson, Bernstein. SipHash: a fast short-input PRF. 2012.
"""

import struct

_MASK = 2**64 - 1


def compute(key: bytes, message: bytes) -> int:
  """The hash of a message, 0 to 2**64 - 1."""
  k0, k1 = struct.unpack('<2Q', key)
  state = [
    k0 ^ 0x736F6D6570736575,
    k1 ^ 0x646F72616E646F6D,
    k0 ^ 0x6C7967656E657261,
    k1 ^ 0x7465646279746573,
  ]
  padding = bytes(-(len(message) + 1) % 8)
  padded = message + padding + bytes([len(message) % 256])
  for (word,) in struct.iter_unpack('<Q', padded):
    state[3] ^= word
    state = _mix(_mix(state))
    state[0] ^= word
  state[2] ^= 0xFF
  for _ in range(4):
    state = _mix(state)
  v0, v1, v2, v3 = state
  return v0 ^ v1 ^ v2 ^ v3


def _mix(state: list[int]) -> list[int]:
  v0, v1, v2, v3 = state
  v0 = (v0 + v1) & _MASK
  v1 = _rotate(v1, 13) ^ v0
  v0 = _rotate(v0, 32)
  v2 = (v2 + v3) & _MASK
  v3 = _rotate(v3, 16) ^ v2
  v0 = (v0 + v3) & _MASK
  v3 = _rotate(v3, 21) ^ v0
  v2 = (v2 + v1) & _MASK
  v1 = _rotate(v1, 17) ^ v2
  v2 = _rotate(v2, 32)
  return [v0, v1, v2, v3]


def _rotate(value: int, bits: int) -> int:
  return ((value << bits) | (value >> (64 - bits))) & _MASK
