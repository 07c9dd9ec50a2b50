# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Reads the types of a computation of TFF, equal ones once.

A written computation has a type at each of its parts, mostly that of the whole
state, and TFF makes objects of each anew. Of a network of ordinary size that
takes a second, nearly all of the time to compile a round.
"""

from collections.abc import Iterator
import contextlib
import threading

from tff_semifl import private_api

_lock = threading.RLock()


@contextlib.contextmanager
def equal_types_once() -> Iterator[None]:
  """Lets TFF read equal types once in the `with` block.

  What it reads is the same, for TFF has one object for all equal types. One
  thread at a time is in such a block.
  """
  with _lock:
    serialization = private_api.type_serialization
    read = serialization.deserialize_type
    types = {}

    # It is called for the parts of a type, too.
    def read_once(proto):
      key = proto.SerializeToString(deterministic=True)
      if key not in types:
        types[key] = read(proto)
      return types[key]

    serialization.deserialize_type = read_once
    try:
      yield
    finally:
      serialization.deserialize_type = read
