# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Where rounds of SemiFL spend their time, by TensorFlow's profiler."""

import collections
from collections.abc import Iterable, Iterator, Mapping, Sequence
import pathlib
import statistics
import tempfile
from typing import NamedTuple

import tensorflow as tf

from benchmarks import federation as federation_lib
from benchmarks import measurement
from tff_semifl import private_api
from tff_semifl import runtime

_NUM_ROUNDS = 3
_NUM_ITEMS = 25
_HOST = '/host:CPU'
# TensorFlow's plane of a GPU's kernels, which it records only with CUPTI.
_DEVICE = '/device:GPU:0'


class Event(NamedTuple):
  """Work of a thread or stream; times are in picoseconds."""

  name: str
  start: int
  end: int


class Item(NamedTuple):
  """The total self time and the number of all events of one name."""

  milliseconds: float
  count: int


def measure(
  devices: Sequence[str], size: federation_lib.Size
) -> Iterator[measurement.Measurement]:
  """Profiles rounds on a device, after a first round with compilation.

  Args:
    devices: Names of logical devices; clients train on the first, one by one.
    size: The size of the federation.

  Yields:
    For the host and, if TensorFlow sees its kernels, for the GPU: the events
    with the largest self time, in milliseconds per round. Waiting threads
    count, too.
  """
  with runtime.simulation_context(devices=devices[:1]):
    federation = federation_lib.Federation(size, jit_compile=True)
    state = federation.initial_state()
    profiles = []
    for round_num in range(1 + _NUM_ROUNDS):
      with tempfile.TemporaryDirectory() as folder:
        arguments = state, federation.server_data(), federation.client_data()
        if round_num == 0:
          state = federation.process.next(*arguments).state
          continue
        with tf.profiler.experimental.Profile(folder):
          state = federation.process.next(*arguments).state
        profiles.append(_read(pathlib.Path(folder)))
  for plane in (_HOST, _DEVICE):
    rounds = [profile.get(plane, {}) for profile in profiles]
    if all(rounds):
      yield measurement.Measurement(
        name=f'profile of {plane}',
        description=(
          f'The {_NUM_ITEMS} largest items of {plane} in a round of SemiFL, and'
          f' how often they occur: {size}'
        ),
        unit='ms',
        values=_find_largest(rounds),
      )


def _read(folder: pathlib.Path) -> dict[str, dict[str, Item]]:
  """The items of each plane in the profile of one round."""
  [path] = folder.rglob('*.xplane.pb')
  planes = private_api.XSpace.FromString(path.read_bytes()).planes
  found = {}
  for plane in planes:
    names = {key: each.name for key, each in plane.event_metadata.items()}
    milliseconds, counts = collections.Counter(), collections.Counter()
    for line in plane.lines:
      events = [
        Event(
          names[each.metadata_id],
          each.offset_ps,
          each.offset_ps + each.duration_ps,
        )
        for each in line.events
      ]
      counts.update(event.name for event in events)
      milliseconds.update(find_own_times(events))
    found[plane.name] = {
      name: Item(value / 1e9, counts[name])
      for name, value in milliseconds.items()
    }
  return found


def find_own_times(events: Iterable[Event]) -> dict[str, int]:
  """The self time of each event name, in picoseconds: without nested events.

  `events` are of one thread; any two are nested, or do not overlap.
  """
  own, open_events = collections.Counter(), []
  for event in sorted(events, key=lambda event: (event.start, -event.end)):
    while open_events and open_events[-1].end <= event.start:
      open_events.pop()
    length = event.end - event.start
    if open_events:
      own[open_events[-1].name] -= length
    own[event.name] += length
    open_events.append(event)
  return dict(own)


def _find_largest(
  rounds: Sequence[Mapping[str, Item]],
) -> dict[str, list[float]]:
  """The milliseconds of the largest items in each round, by name and count."""
  nothing = Item(0.0, 0)
  found = {
    name: [items.get(name, nothing) for items in rounds]
    for name in set().union(*rounds)
  }
  largest = sorted(
    found.items(),
    key=lambda each: -statistics.median(item.milliseconds for item in each[1]),
  )
  return {
    f'{name} ({statistics.median(item.count for item in items):,.0f})': [
      item.milliseconds for item in items
    ]
    for name, items in largest[:_NUM_ITEMS]
  }
