# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The flags that say how an experiment is run and where its results go.

None changes what is computed, so they may differ when a run is resumed.
"""

from absl import flags

RUNTIME = flags.DEFINE_enum(
  'runtime',
  'in_process',
  ['in_process', 'native'],
  'What runs the computations: in_process, the TensorFlow of this program;'
  " native, a worker process of TFF's, on the CPU, a check on the former.",
)
MAX_CONCURRENT_CLIENTS = flags.DEFINE_integer(
  'max_concurrent_clients',
  None,
  'Clients that work at the same time. By default one in process, no limit in'
  ' a worker. Results do not depend on it.',
  lower_bound=1,
)
OUTPUT_DIR = flags.DEFINE_string(
  'output_dir', 'results', 'Folder for the folders of all experiments.'
)
EXPERIMENT_NAME = flags.DEFINE_string(
  'experiment_name',
  None,
  'Name of the folder. By default made of system, task, labels, partition and'
  ' seed. A folder with the same experiment is resumed, one with another is'
  ' refused.',
)

DRY_RUN = flags.DEFINE_bool(
  'dry_run',
  False,
  'Build everything, train nothing, and print as JSON what would be run.',
)

MAY_CHANGE = frozenset(
  flag.name
  for flag in (
    RUNTIME,
    MAX_CONCURRENT_CLIENTS,
    OUTPUT_DIR,
    EXPERIMENT_NAME,
    DRY_RUN,
  )
)
