# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The flags that all systems of SemiFL's experiments have in common.

Defaults are those of its Tables 4 and 5, unless the help says otherwise.
"""

import math

from absl import flags

CLIENTS_PER_ROUND = flags.DEFINE_integer(
  'clients_per_round',
  10,
  'Clients that take part in a round. 0 trains on the labels alone, with the'
  ' same server steps.',
  lower_bound=0,
)
TOTAL_ROUNDS = flags.DEFINE_integer(
  'total_rounds',
  800,
  'Rounds, and length of the cosine that the learning rate follows.',
  lower_bound=1,
)
CLIENT_EPOCHS = flags.DEFINE_float(
  'client_epochs',
  5,
  'Epochs of a client in a round. A number below 1 is that share of the batches'
  ' of one epoch; others are rounded up to whole epochs (A.10).',
)
SERVER_EPOCHS = flags.DEFINE_float(
  'server_epochs', 5, 'Epochs of the server in a round, likewise.'
)
CLIENT_BATCH_SIZE = flags.DEFINE_integer(
  'client_batch_size', 10, 'Images in a step of a client.', lower_bound=1
)
SERVER_BATCH_SIZE = flags.DEFINE_integer(
  'server_batch_size',
  None,
  'Images in a step of the server. By default 250, or 10 for up to 250 labelled'
  " images (the authors' rule at the time of the paper, D4).",
  lower_bound=1,
)
CONFIDENCE_THRESHOLD = flags.DEFINE_float(
  'confidence_threshold',
  0.95,
  'Probability from which on a pseudo-label is trained on, in (0, 1].',
)
LEARNING_RATE = flags.DEFINE_float(
  'learning_rate',
  0.03,
  'Learning rate of server and clients in the first round, above 0.',
)
MOMENTUM = flags.DEFINE_float(
  'momentum', 0.9, 'Nesterov momentum of server and clients, in [0, 1).'
)
WEIGHT_DECAY = flags.DEFINE_float(
  'weight_decay',
  5e-4,
  'Weight decay of all weights, server and clients.',
)
CLIP_NORM = flags.DEFINE_float(
  'clip_norm',
  1.0,
  "Bound on the norm of a step's gradients, above 0 (the authors' code).",
)
GLOBAL_MOMENTUM = flags.DEFINE_float(
  'global_momentum',
  0.5,
  "Momentum of the clients' mean from round to round, in [0, 1); 0 is the plain"
  ' mean of Algorithm 1 (D15).',
)
KEEP_SERVER_MOMENTUM = flags.DEFINE_bool(
  'keep_server_momentum',
  True,
  "Whether the server's momentum goes on from round to round, as in the last"
  " code of the authors; in that of the paper's time it starts at zero (D5).",
)
KEEP_CLIENT_MOMENTUM = flags.DEFINE_bool(
  'keep_client_momentum',
  False,
  "Whether a client's momentum goes on from its last round, as in the authors'"
  " code (D5). It is kept in the experiment's folder: as much as a model for"
  ' each client.',
)
BATCH_NORM_STATISTICS = flags.DEFINE_enum(
  'batch_norm_statistics',
  None,
  ['federated', 'pooled', 'server', 'server_batches'],
  'Of which images static batch normalisation has statistics (D8 to D10):'
  " server, the server's, which is the default; federated, those of all"
  ' clients, each with a pass over its own (appendix B);'
  " pooled, all of both in one place, as the authors' code simulates it;"
  " server_batches, the server's as the authors' code has them, a plain mean"
  ' over batches of one class after the other: of 250 images, or in training in'
  ' one place of --server_batch_size.',
)
REPRODUCE_FINAL_TEST = flags.DEFINE_bool(
  'reproduce_final_test',
  False,
  'Whether each evaluation also tests the model with statistics of all training'
  " images in the data's order, in batches of --server_batch_size, as the"
  " authors' final test has it whatever the statistics of training are (D11):"
  ' columns final_test/accuracy and final_test/loss. Their result is that of'
  ' the round with the best test/accuracy, and is printed at the end.',
)


def _register_range(flag: flags.FlagHolder, check, description: str) -> None:
  flags.register_validator(flag.name, check, message=f'must be {description}')


# Infinity and what is no number are beyond every range.
for _flag in (LEARNING_RATE, CLIP_NORM):
  _register_range(_flag, lambda value: 0 < value < math.inf, 'above 0')
for _flag in (WEIGHT_DECAY, SERVER_EPOCHS):
  _register_range(_flag, lambda value: 0 <= value < math.inf, 'at least 0')
_register_range(CLIENT_EPOCHS, lambda value: 0 < value < math.inf, 'above 0')
for _flag in (MOMENTUM, GLOBAL_MOMENTUM):
  _register_range(_flag, lambda value: 0 <= value < 1, 'in [0, 1)')
_register_range(CONFIDENCE_THRESHOLD, lambda value: 0 < value <= 1, 'in (0, 1]')
