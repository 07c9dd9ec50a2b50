# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Makes TFF deserialize equal types of a computation once.

A serialized computation has a type at each part, mostly that of the whole
state. TFF deserializes all of them, which takes a second for a network of
ordinary size, nearly all of the time to compile a round.
"""

from collections.abc import Iterator
import contextlib
import threading

from tff_semifl import private_api

_lock = threading.RLock()


@contextlib.contextmanager
def equal_types_once() -> Iterator[None]:
  """Caches deserialized types in the `with` block.

  One thread at a time can be in such a block.
  """
  with _lock:
    serialization = private_api.type_serialization
    read = serialization.deserialize_type
    types = {}

    # TFF also calls this function for the parts of a type.
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
