# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The environment variables that Ray reads when it is imported."""

import importlib.util
import os
import secrets
import sys

from tff_semifl.runtime import errors


def check_installed() -> None:
  """Checks that Ray can be imported."""
  if importlib.util.find_spec('ray') is None:
    raise errors.WorkerError(
      'Ray is not installed; pip install tff-semifl[ray] installs it'
    )


def prepare(*, is_local: bool) -> None:
  """Sets environment variables of Ray that are not set yet.

  A local cluster accepts only requests with its token, as any user of this
  machine can reach its ports. Ray reads the token when it is imported.
  """
  check_installed()
  # By default Ray sends usage statistics to its makers.
  os.environ.setdefault('RAY_USAGE_STATS_ENABLED', '0')
  if is_local:
    # By default clients run at the lowest priority.
    os.environ.setdefault('RAY_worker_niceness', '0')
  if is_local and 'RAY_AUTH_MODE' not in os.environ:
    if 'ray' not in sys.modules:
      os.environ['RAY_AUTH_MODE'] = 'token'
      os.environ['RAY_AUTH_TOKEN'] = secrets.token_hex(32)
    elif not sys.modules['ray'].is_initialized():
      raise errors.WorkerError(
        'Ray was imported before its cluster could be given a token, without'
        ' which any user of this machine may use it: do not import Ray before'
        ' the first context, or set RAY_AUTH_MODE=token and RAY_AUTH_TOKEN'
        ' before that (RAY_AUTH_MODE=disabled for no token)'
      )
