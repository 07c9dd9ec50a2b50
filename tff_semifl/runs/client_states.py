# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""States that clients keep from round to round, stored in files.

A client's state is as large as a model, and only a few of many clients train in
a round. So a state is read when it is needed and written when it has changed. A
few versions of each are kept, so that a run can resume from any checkpoint.
"""

from collections.abc import Callable, Sequence
import pathlib
import re
from typing import Any

from tff_semifl.files import array_files
from tff_semifl.files import durable_files


class ClientStates:
  """The states of all clients: `<folder>/<client>/<round>.npz`."""

  def __init__(
    self,
    folder: pathlib.Path,
    initialize: Callable[[], Any],
    *,
    num_kept: int,
  ):
    """Initializes the store; nothing is read or written yet.

    Args:
      folder: The folder of the files.
      initialize: Returns the state of a client that has not trained yet.
      num_kept: The number of latest rounds that a run may resume from.
    """
    self._folder = folder
    self._initialize = initialize
    self._num_kept = num_kept
    self._initial = None

  def open(self, round_num: int) -> None:
    """Creates the folder for the first round, and requires it for others.

    Args:
      round_num: The round that is about to be run.

    Raises:
      durable_files.OutputError: If the folder is not there any more.
    """
    if round_num > 1 and not self._folder.is_dir():
      raise durable_files.OutputError(
        f'{self._folder} is missing, in which clients keep their states; put it'
        ' back, or remove the whole experiment to train from the beginning'
      )
    with durable_files.naming(self._folder):
      self._folder.mkdir(parents=True, exist_ok=True)

  def load(self, clients: Sequence[int], round_num: int) -> list[Any]:
    """Returns the states of clients before a round.

    Args:
      clients: Numbers of the clients.
      round_num: The round.

    Returns:
      Their states, in the order of `clients`.

    Raises:
      durable_files.OutputError: If a file is damaged.
    """
    if self._initial is None:
      self._initial = self._initialize()
    return [self._load_one(client, round_num) for client in clients]

  def save(
    self, clients: Sequence[int], states: Sequence[Any], round_num: int
  ) -> None:
    """Saves the states of clients after a round.

    Each file is in place either completely or not at all, and replaces the one
    that an earlier run of the same round wrote.

    Args:
      clients: Numbers of the clients.
      states: Their states, in the same order.
      round_num: The round.

    Raises:
      durable_files.OutputError: If they cannot be written.
    """
    for client, state in zip(clients, states, strict=True):
      path = self._path(client, round_num)
      with durable_files.naming(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        array_files.write(path, state)
        self._remove_old(client, round_num)

  def _load_one(self, client: int, round_num: int) -> Any:
    earlier = [n for n in self._rounds(client) if n < round_num]
    if not earlier:
      return self._initial
    path = self._path(client, max(earlier))
    try:
      return array_files.pack_as(self._initial, array_files.read(path))
    except (array_files.DamagedFileError, ValueError) as error:
      raise durable_files.OutputError(
        f'{error}; put a good copy of {path} in its place, or remove the whole'
        ' experiment to train from the beginning'
      ) from error

  def _remove_old(self, client: int, round_num: int) -> None:
    """Removes the states that no kept checkpoint can need."""
    oldest = round_num - self._num_kept
    before = [n for n in self._rounds(client) if n <= oldest]
    for old in sorted(before)[:-1]:
      self._path(client, old).unlink()

  def _rounds(self, client: int) -> list[int]:
    names = (path.stem for path in self._path(client, 0).parent.glob('*.npz'))
    # Files with other names are not states.
    return [int(name) for name in names if re.fullmatch('[0-9]+', name)]

  def _path(self, client: int, round_num: int) -> pathlib.Path:
    return self._folder / str(client) / f'{round_num}.npz'


class ClientMemories:
  """A store in which each client has its own memory, in a file."""

  def __init__(self, states: ClientStates):
    """Initializes the memories.

    Args:
      states: The store of the memories.
    """
    self._states = states

  def initialize(self) -> tuple[()]:
    """Returns the empty tuple, as nothing is held in main memory."""
    return ()

  def recall(
    self, held: tuple[()], round_num: int, cohort: Sequence[int]
  ) -> list[Any]:
    """The memory of each client from its last round."""
    del held  # Empty.
    self._states.open(round_num)
    return self._states.load(cohort, round_num)

  def keep(
    self,
    held: tuple[()],
    round_num: int,
    cohort: Sequence[int],
    returned: Sequence[Any | None],
  ) -> tuple[()]:
    """Saves the memory of each client after its round."""
    for client, memory in zip(cohort, returned, strict=True):
      if memory is not None:
        self._states.save([client], [memory], round_num)
    return held
