# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Release managers that keep what they are given, or refuse it."""

import tensorflow_federated as tff


class Recorder(tff.program.ReleaseManager):
  """Keeps all released values."""

  def __init__(self, values=None):
    self.values = values
    self.released = []

  async def release(self, value, key):
    self.released.append((key, value))


class Refuser(tff.program.ReleaseManager):
  """Fails after round 0."""

  async def release(self, value, key):
    if key:
      raise ConnectionError('nobody is there')


RECORDER = Recorder()
REFUSER = Refuser()
CREATED = []


def create_recorder(path, values):
  if not (path / 'hparams.json').exists():
    raise ValueError('there is no experiment')
  CREATED.append(Recorder(values))
  return CREATED[-1]


def create_nothing(path, values):
  del path, values
