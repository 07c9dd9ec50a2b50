# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of the training program, resuming included."""

import asyncio
import csv
import dataclasses
import pathlib
import types

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import tensorflow as tf

from tests import linear_reference
from tests import simulation_test_case
from tests.programs import linear_program
from tff_semifl.programs import checkpoints
from tff_semifl.programs import metrics_file
from tff_semifl.programs import training

_COLUMNS = [
  'round',
  'test/accuracy',
  'test/loss',
  'test/best_accuracy',
  'server/loss',
  'server/accuracy',
  'client/loss',
  'client/accuracy',
  'client/label_ratio',
  'client/pseudo_accuracy',
  'client/threshold_accuracy',
  'client/micro_threshold_accuracy',
  'client/num_participating',
  'client/num_rejected',
  'client/num_dropped',
  'client/weight_diversity',
  'client/relative_weight_diversity',
  'learning_rate',
  'seconds',
]


class TrainingTest(simulation_test_case.SimulationTestCase):
  def _train(
    self, folder, total_rounds, on_round=lambda *_: None, program=None
  ):
    program = program or linear_program.create_program(total_rounds)
    return asyncio.run(
      training.train(
        program,
        state_manager=checkpoints.Checkpoints(
          pathlib.Path(folder, 'states'), num_kept=3
        ),
        metrics_manager=metrics_file.MetricsFile(
          pathlib.Path(folder, 'metrics.csv')
        ),
        memories=linear_program.create_memories(program, folder, num_kept=3),
        on_start=lambda _: None,
        on_round=on_round,
      )
    )

  def _read_metrics(self, folder):
    with pathlib.Path(folder, 'metrics.csv').open() as file:
      return list(csv.DictReader(file))

  def test_memories_that_nobody_keeps_or_has(self):
    folder = self.create_tempdir().full_path
    remembering = linear_program.create_program(1, keep_client_momentum=True)
    plain = linear_program.create_program(1)
    for program, memories in (
      (remembering, None),
      (
        plain,
        linear_program.create_memories(remembering, folder, num_kept=1),
      ),
    ):
      with self.assertRaisesRegex(ValueError, '^`memories` must be given if'):
        asyncio.run(
          training.train(
            program,
            state_manager=checkpoints.Checkpoints(
              pathlib.Path(folder, 'states'), num_kept=1
            ),
            metrics_manager=metrics_file.MetricsFile(
              pathlib.Path(folder, 'metrics.csv')
            ),
            memories=memories,
            on_start=lambda _: None,
            on_round=lambda *_: None,
          )
        )

  def test_rows_columns_and_values(self):
    folder = self.create_tempdir().full_path
    seen = {}
    final = self._train(folder, 4, on_round=seen.__setitem__)
    rows = self._read_metrics(folder)
    self.assertEqual(list(rows[0]), _COLUMNS)
    self.assertEqual([row['round'] for row in rows], list('01234'))
    self.assertEqual(
      [seen[n].test.accuracy for n in range(5)],
      [float(row['test/accuracy']) for row in rows],
    )
    self.assertEqual(rows[0]['client/num_participating'], '0.0')
    # Rate 0.3 for rounds 0 and 1, then half a cosine over four rounds.
    np.testing.assert_allclose(
      [float(row['learning_rate']) for row in rows],
      [0.3, *(0.15 * (1 + np.cos(np.pi * np.arange(4) / 4)))],
      rtol=1e-6,
    )
    accuracies = [float(row['test/accuracy']) for row in rows]
    self.assertEqual(final.round_num, 4)
    self.assertAlmostEqual(final.accuracy, accuracies[-1])
    self.assertAlmostEqual(final.best_accuracy, max(accuracies))
    self.assertEqual(
      [float(row['test/best_accuracy']) for row in rows],
      [max(accuracies[: n + 1]) for n in range(5)],
    )
    self.assertGreater(max(float(r['client/label_ratio']) for r in rows[1:]), 0)

  def test_cells_of_what_was_not_measured_are_empty(self):
    """Round 0 has no clients; a round without labels has none to be right."""
    folder = self.create_tempdir().full_path
    program = linear_program.create_program(2, confidence_threshold=1.0)
    self._train(folder, 2, program=program)
    rows = self._read_metrics(folder)
    measured = {'num_participating', 'num_rejected', 'num_dropped'}
    for row, names in zip(
      rows,
      (
        measured,
        # Labels were made, and none of them trained on (D17).
        *[measured | {'label_ratio', 'pseudo_accuracy', 'threshold_accuracy'}]
        * 2,
      ),
      strict=True,
    ):
      self.assertEqual(
        {name for name, cell in row.items() if cell == ''},
        {
          column
          for column in _COLUMNS
          if column.startswith('client/')
          and column.removeprefix('client/') not in names
        },
      )
    self.assertEqual(rows[1]['client/label_ratio'], '0.0')
    self.assertEqual(rows[1]['client/threshold_accuracy'], '0.0')

  def test_truth_that_is_not_known(self):
    folder = self.create_tempdir().full_path
    program = dataclasses.replace(
      linear_program.create_program(2), measures_pseudo_labels=False
    )
    self._train(folder, 2, program=program)
    for row in self._read_metrics(folder)[1:]:
      for name in ('pseudo', 'threshold', 'micro_threshold'):
        self.assertEqual(row[f'client/{name}_accuracy'], '')
      self.assertNotEqual(row['client/label_ratio'], '')

  def test_server_that_trains_on_nothing(self):
    folder = self.create_tempdir().full_path
    program = linear_program.create_program(1, server_epochs=0)
    self._train(folder, 1, program=program)
    for row in self._read_metrics(folder):
      self.assertEqual(row['server/loss'], '')
      self.assertEqual(row['server/accuracy'], '')

  def test_pseudo_labels_are_compared_with_the_truth(self):
    folder = self.create_tempdir().full_path
    program = linear_program.create_program(2)
    outputs = []

    def run(*arguments):
      outputs.append(program.process.next(*arguments))
      return outputs[-1]

    recorder = types.SimpleNamespace(
      initialize=program.process.initialize, next=run, initialize_memory=None
    )
    self._train(
      folder, 2, program=dataclasses.replace(program, process=recorder)
    )
    for round_num, row in enumerate(self._read_metrics(folder)[1:], 1):
      right = [
        # Image n of all is of class n modulo 3; clients have those from 6 on.
        given.label == (6 * client + given.image) % 3
        for given, client in zip(
          outputs[round_num].given_labels,
          program.clients.cohort(round_num),
          strict=True,
        )
      ]
      self.assertAlmostEqual(
        float(row['client/pseudo_accuracy']),
        np.concatenate(right).mean(),
        places=6,
      )

  @parameterized.named_parameters(
    ('stateless', {}),
    # D5: what clients keep is resumed too.
    ('stateful', {'keep_client_momentum': True}),
    ('robust', {'aggregator': 'robust'}),
    (
      'private',
      {
        'aggregator': 'differential_privacy',
        'noise_multiplier': 0.1,
        'clipping_norm': 0.1,
        'dropout_probability': 0.4,
      },
    ),
  )
  def test_resumed_run_equals_one_that_ran_through(self, options):
    whole, cut = (self.create_tempdir(name).full_path for name in ('a', 'b'))
    expected = self._train(
      whole, 4, program=linear_program.create_program(4, **options)
    )
    self._train(cut, 2, program=linear_program.create_program(2, **options))
    rounds = []
    found = self._train(
      cut,
      4,
      on_round=lambda n, _: rounds.append(n),
      program=linear_program.create_program(4, **options),
    )
    self.assertEqual(rounds, [3, 4])
    for a, b in zip(
      tf.nest.flatten(expected), tf.nest.flatten(found), strict=True
    ):
      np.testing.assert_array_equal(a, b)
    for a, b in zip(
      self._read_metrics(whole), self._read_metrics(cut), strict=True
    ):
      self.assertEqual(a | {'seconds': None}, b | {'seconds': None})

  def test_round_cut_off_between_metrics_and_state_is_run_again(self):
    folder = self.create_tempdir().full_path
    self._train(folder, 2)
    pathlib.Path(folder, 'states/program_state_2.npz').unlink()
    rounds = []
    self._train(folder, 3, on_round=lambda n, _: rounds.append(n))
    self.assertEqual(rounds, [2, 3])
    self.assertEqual(
      [row['round'] for row in self._read_metrics(folder)], list('0123')
    )

  def test_damaged_checkpoint_costs_the_rounds_after_the_one_before_it(self):
    folder = self.create_tempdir().full_path
    expected = self._train(folder, 4)
    rows = self._read_metrics(folder)
    for round_num in (3, 4):
      path = pathlib.Path(folder, f'states/program_state_{round_num}.npz')
      path.write_bytes(b'')
    rounds = []
    found = self._train(folder, 4, on_round=lambda n, _: rounds.append(n))
    self.assertEqual(rounds, [3, 4])
    for a, b in zip(
      tf.nest.flatten(expected), tf.nest.flatten(found), strict=True
    ):
      np.testing.assert_array_equal(a, b)
    for a, b in zip(rows, self._read_metrics(folder), strict=True):
      self.assertEqual(a | {'seconds': None}, b | {'seconds': None})

  def test_momentum_that_clients_keep_makes_a_difference(self):
    results = [
      self._train(
        self.create_tempdir().full_path,
        4,
        program=linear_program.create_program(4, keep_client_momentum=keeps),
      ).state.global_model_weights.trainable[0]
      for keeps in (False, True)
    ]
    self.assertGreater(np.abs(results[0] - results[1]).max(), 1e-4)

  def test_statistics_are_computed_after_each_round(self):
    program = linear_program.create_program(1, has_federated_statistics=True)
    final = self._train(self.create_tempdir().full_path, 1, program=program)
    # Of all clients, whoever took part: images 6 to 29, all but the server's.
    pixels = linear_reference.create_images(30)[6:].astype(np.float64)
    mean, variance = final.state.global_model_weights.non_trainable
    np.testing.assert_allclose(mean, [pixels.mean()], rtol=1e-5)
    np.testing.assert_allclose(variance, [pixels.var(ddof=1)], rtol=1e-5)

  @parameterized.parameters(
    # Rounds 0 to 4, of which 0, 3 and 4 are evaluated.
    (True, 5),
    (False, 3),
  )
  def test_statistics_that_nobody_asks_for(self, for_clients, expected):
    program = linear_program.create_program(4, has_federated_statistics=True)
    computation = program.statistics.computation
    passes = []

    def compute(weights, data):
      passes.append(data)
      return computation(weights, data)

    program = dataclasses.replace(
      program,
      rounds_per_evaluation=3,
      statistics=program.statistics._replace(
        computation=compute, for_clients=for_clients
      ),
    )
    self._train(self.create_tempdir().full_path, 4, program=program)
    self.assertLen(passes, expected)

  def test_final_test_has_statistics_of_its_own_d11(self):
    program = linear_program.create_program(2, has_federated_statistics=True)
    folder = self.create_tempdir().full_path
    final = self._train(folder, 2, program=program)
    images = linear_reference.create_images(30).astype(np.float64)
    batches = [images[start : start + 4] for start in range(0, 30, 4)]
    self.assertLen(batches, 8)
    mean = np.mean([batch.mean() for batch in batches])
    variance = np.mean([batch.var(ddof=1) for batch in batches])
    scale, offset, kernel, bias = final.state.global_model_weights.trainable
    normalized = (images - mean) / np.sqrt(variance + 1e-5) * scale + offset
    logits = normalized.reshape(30, -1) @ kernel + bias
    labels = np.arange(30) % 3
    losses = np.log(np.exp(logits).sum(axis=1)) - logits[np.arange(30), labels]
    row = self._read_metrics(folder)[-1]
    self.assertEqual(
      list(row), [*_COLUMNS, 'final_test/accuracy', 'final_test/loss']
    )
    self.assertAlmostEqual(
      float(row['final_test/loss']), losses.mean(), places=4
    )
    self.assertAlmostEqual(
      float(row['final_test/accuracy']),
      np.mean(logits.argmax(axis=1) == labels),
      places=6,
    )

    with self.subTest('changes nothing else'):
      other = self.create_tempdir().full_path
      without = dataclasses.replace(program, final_test=None)
      again = self._train(other, 2, program=without)
      tf.nest.map_structure(
        np.testing.assert_array_equal, again.state, final.state
      )
      self.assertNotEqual(row['final_test/loss'], row['test/loss'])
      row_without = self._read_metrics(other)[-1]
      self.assertEqual(list(row_without), _COLUMNS)
      for column in {*_COLUMNS} - {'seconds'}:
        self.assertEqual(row_without[column], row[column])

  def test_what_clients_measure_besides_has_columns_of_its_own(self):
    folder = self.create_tempdir().full_path
    program = linear_program.create_program(1)

    def run(*arguments):
      output = program.process.next(*arguments)
      client = {**output.metrics['client'], 'doubt': np.float32(0.25)}
      return output._replace(metrics={**output.metrics, 'client': client})

    process = types.SimpleNamespace(
      initialize=program.process.initialize, next=run, initialize_memory=None
    )
    self._train(
      folder, 1, program=dataclasses.replace(program, process=process)
    )
    for row in self._read_metrics(folder):
      self.assertEqual(row['client/own/doubt'], '0.25')
      self.assertSameElements(row, [*_COLUMNS, 'client/own/doubt'])

  def test_finished_run_has_nothing_left_to_do(self):
    folder = self.create_tempdir().full_path
    first = self._train(folder, 2)
    rounds = []
    again = self._train(folder, 2, on_round=lambda n, _: rounds.append(n))
    self.assertEmpty(rounds)
    self.assertEqual(again[1:], first[1:])
    self.assertEqual([type(value) for value in again[1:4]], [int, float, float])

  def test_dropped_clients_are_counted(self):
    folder = self.create_tempdir().full_path
    program = linear_program.create_program(4, dropout_probability=0.4)
    self._train(folder, 4, program=program)
    found = [row['client/num_dropped'] for row in self._read_metrics(folder)]
    sizes = [len(program.clients.cohort(n)) for n in range(5)]
    # Two are chosen, in all rounds but the first.
    self.assertEqual(found, ['0.0', *(f'{2 - n:.1f}' for n in sizes[1:])])
    self.assertGreater(len(set(found[1:])), 1)

  def test_columns_of_an_aggregator_come_last(self):
    folder = self.create_tempdir().full_path
    program = linear_program.create_program(2, aggregator='robust')
    self._train(folder, 2, program=program)
    rows = self._read_metrics(folder)
    self.assertEqual(
      list(rows[0]),
      [
        *_COLUMNS,
        'aggregator/zeroed_count',
        'aggregator/zeroing/clipped_count',
        'aggregator/zeroing/clipping_norm',
        'aggregator/zeroing_norm',
      ],
    )
    # 2 * 10 + 1 to begin with, and nobody was there to change it.
    self.assertEqual(
      [row['aggregator/zeroing_norm'] for row in rows[:2]], ['21.0'] * 2
    )

  def test_epsilon_is_that_of_the_rounds_so_far(self):
    folder = self.create_tempdir().full_path
    program = dataclasses.replace(
      linear_program.create_program(2), epsilon_fn=lambda n: 0.25 * n
    )
    self._train(folder, 2, program=program)
    self.assertEqual(
      [row['aggregator/epsilon'] for row in self._read_metrics(folder)],
      ['0.0', '0.25', '0.5'],
    )

  def test_divergence_is_reported_and_not_saved(self):
    folder = self.create_tempdir().full_path
    program = linear_program.create_program(4, learning_rate=1e38)
    with self.assertRaisesRegex(
      training.TrainingDivergedError, 'not finite after round 0'
    ):
      self._train(folder, 4, program=program)
    self.assertEmpty(list(pathlib.Path(folder, 'states').iterdir()))


if __name__ == '__main__':
  absltest.main()
