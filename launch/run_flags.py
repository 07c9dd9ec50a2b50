# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The flags that say how an experiment is run and where its results go.

None changes what is computed, so they may differ when a run is resumed.
"""

from absl import flags

from launch import worker_flags

RUNTIME = flags.DEFINE_enum(
  'runtime',
  'in_process',
  ['in_process', 'native', 'remote'],
  'What runs the computations: in_process, the TensorFlow of this program;'
  " native, a worker process of TFF's, on the CPU, a check on the former;"
  ' remote, the --workers.',
)
WORKERS = flags.DEFINE_list(
  'workers',
  None,
  'Where the workers of --runtime=remote are, as host:port,host:port. Each is a'
  " launch.worker or a worker of TFF's.",
)
WORKER_SILENCE_SECONDS = flags.DEFINE_float(
  'worker_silence_seconds',
  None,
  'A remote worker that answers nothing for so long is lost: the others do its'
  ' work. By default 60.',
  lower_bound=1,
)
WORKER_CALL_SECONDS = flags.DEFINE_float(
  'worker_call_seconds',
  None,
  'A remote worker that needs longer than this for its share of a round is'
  ' lost, even if it answers. By default it may take as long as it likes.',
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
ROUNDS_PER_EVALUATION = flags.DEFINE_integer(
  'rounds_per_evaluation',
  1,
  'After how many rounds, and after the last, the model is evaluated, a row is'
  ' written and all is saved. An interruption costs the rounds since.',
  lower_bound=1,
)
TENSORBOARD = flags.DEFINE_bool(
  'tensorboard',
  True,
  "Whether to write flags and metrics for TensorBoard too, in the experiment's"
  ' folder logdir.',
)
DRAW_DATA = flags.DEFINE_bool(
  'draw_data',
  False,
  'Whether to draw, before the first round, what augmentations do to images and'
  ' which client has how many of which class: in the folder pictures, and for'
  ' --tensorboard. It takes a second or two, once.',
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
    WORKERS,
    WORKER_SILENCE_SECONDS,
    WORKER_CALL_SECONDS,
    worker_flags.MAX_CONCURRENT_CLIENTS,
    *worker_flags.TLS_FLAGS,
    OUTPUT_DIR,
    EXPERIMENT_NAME,
    ROUNDS_PER_EVALUATION,
    TENSORBOARD,
    DRAW_DATA,
    DRY_RUN,
  )
)
