# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of TensorBoard's logs, read by TensorBoard."""

import csv
import pathlib
import time

from absl.testing import absltest
import numpy as np
import PIL.Image
from tensorboard.backend.event_processing import plugin_event_accumulator
from tensorboard.plugins.hparams import metadata
import tensorflow as tf

from tests.runs import full_disk
from tff_semifl.files import durable_files
from tff_semifl.runs import tensorboard_log


class TensorBoardLogTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self._folder = pathlib.Path(self.create_tempdir().full_path)
    self._logdir = self._folder / 'logdir'

  def _create_log(self, hparams=None, figures=()):
    return tensorboard_log.TensorBoardLog(
      self._logdir,
      metrics_file=self._folder / 'metrics.csv',
      hparams=hparams or {'seed': 0},
      figures=figures,
    )

  def _write_table(self, rounds, **columns):
    with (self._folder / 'metrics.csv').open('w') as file:
      writer = csv.writer(file)
      writer.writerow(['round', 'test/accuracy', *columns])
      for row in zip(rounds, *columns.values(), strict=True):
        # The accuracy shows the round.
        writer.writerow([row[0], row[0] / 8, *row[1:]])

  def _open_tensorboard(self):
    return plugin_event_accumulator.EventAccumulator(
      str(self._logdir), size_guidance={}, tensor_size_guidance={'scalars': 0}
    )

  def _read(self, tag, tensorboard=None):
    """Returns steps and values of a tag."""
    tensorboard = tensorboard or self._open_tensorboard()
    tensorboard.Reload()
    return [
      (event.step, tf.make_ndarray(event.tensor_proto).item())
      for event in tensorboard.Tensors(tag)
    ]

  def _run(self, first_round, last_round):
    """Reports rounds to a log."""
    log = self._create_log()
    if not first_round:
      self._write_table([])
    log.start(first_round)
    for round_num in range(first_round, last_round + 1):
      self._write_table(range(round_num + 1))
      log.show_round(round_num, None)

  def test_each_column_has_each_round_at_once(self):
    log = self._create_log()
    self._write_table([])
    log.start(0)
    for round_num in range(3):
      losses = [2.5, 1.5, 0.5][: round_num + 1]
      self._write_table(range(round_num + 1), **{'server/loss': losses})
      log.show_round(round_num, None)
      self.assertEqual(
        self._read('server/loss'), list(enumerate(losses)), round_num
      )
    self.assertEqual(
      self._read('test/accuracy'), [(0, 0), (1, 0.125), (2, 0.25)]
    )
    self.assertSameElements(
      [tag for tag in self._open_tensorboard().Reload().Tags()['tensors']],
      ['test/accuracy', 'server/loss', metadata.SESSION_START_INFO_TAG],
    )

  def test_empty_cell_is_no_point(self):
    log = self._create_log()
    self._write_table(
      range(3), **{'client/loss': ['', 0.5, ''], 'client/accuracy': [''] * 3}
    )
    log.start(3)
    tensorboard = self._open_tensorboard()
    self.assertEqual(self._read('client/loss', tensorboard), [(1, 0.5)])
    self.assertNotIn('client/accuracy', tensorboard.Tags()['tensors'])

  def test_resumed_run_has_one_curve(self):
    self._run(0, 5)
    # Killed when round 5 was in the table, but not saved: it is run again.
    self._run(5, 7)
    self.assertEqual(
      self._read('test/accuracy'), [(n, n / 8) for n in range(8)]
    )
    self.assertLen(list(self._logdir.iterdir()), 1)

  def test_open_tensorboard_sees_one_curve_too(self):
    self._run(0, 5)
    tensorboard = self._open_tensorboard()
    self.assertLen(self._read('test/accuracy', tensorboard), 6)
    self._run(3, 6)
    self.assertEqual(
      self._read('test/accuracy', tensorboard), [(n, n / 8) for n in range(7)]
    )

  def test_what_a_kill_has_left_is_put_in_order(self):
    self._run(0, 2)
    [file] = self._logdir.iterdir()
    # Half of what was written last, and a round that is not there at all.
    file.write_bytes(file.read_bytes()[:-10])
    self._write_table(range(5))
    self._create_log().start(5)
    self.assertEqual(
      self._read('test/accuracy'), [(n, n / 8) for n in range(5)]
    )

  def test_rounds_that_were_not_evaluated(self):
    self._write_table([4, 9])
    self._create_log().start(10)
    self.assertEqual(self._read('test/accuracy'), [(4, 0.5), (9, 1.125)])

  def test_times_are_as_if_nothing_had_come_between(self):
    self._write_table(range(3), seconds=[7, 100, 40])
    before = time.time()
    self._create_log().start(3)
    times = [
      event.wall_time
      for event in self._open_tensorboard().Reload().Tensors('seconds')
    ]
    np.testing.assert_allclose(np.diff(times), [100, 40])
    self.assertBetween(times[-1], before, time.time())

  def test_hparams_are_the_flags(self):
    self._write_table([])
    log = self._create_log(
      {
        'task': 'digits',
        'seed': 3,
        'momentum': 0.9,
        'gray': True,
        'data_dir': None,
        'sizes': [1, 2],
      }
    )
    log.start(0)
    summary = (
      self._open_tensorboard()
      .Reload()
      .SummaryMetadata(metadata.SESSION_START_INFO_TAG)
    )
    hparams = metadata.parse_session_start_info_plugin_data(
      summary.plugin_data.content
    ).hparams
    self.assertSameElements(
      hparams, ['task', 'seed', 'momentum', 'gray', 'sizes']
    )
    self.assertEqual(hparams['task'].string_value, 'digits')
    self.assertEqual(hparams['seed'].number_value, 3)
    self.assertEqual(hparams['momentum'].number_value, 0.9)
    self.assertTrue(hparams['gray'].bool_value)
    self.assertEqual(hparams['sizes'].string_value, '[1, 2]')

  def test_pictures_are_images_after_each_start(self):
    self._write_table([])
    path = self._folder / 'partition.png'
    PIL.Image.new('RGB', (30, 20), 'red').save(path)
    for _ in range(2):
      self._create_log(figures=[path]).start(0)
    [event] = self._open_tensorboard().Reload().Tensors('partition')
    width, height, content = tf.make_ndarray(event.tensor_proto)
    self.assertEqual((width, height), (b'30', b'20'))
    self.assertEqual(content, path.read_bytes())

  def test_full_disk_is_named_and_leaves_what_was_there(self):
    self._run(0, 2)
    [before] = self._logdir.iterdir()
    with (
      full_disk.full_disk(200),
      self.assertRaisesRegex(
        durable_files.OutputError,
        f'^cannot write {self._logdir}: File too large',
      ),
    ):
      self._create_log().start(3)
    self.assertEqual(list(self._logdir.iterdir()), [before])
    self.assertLen(self._read('test/accuracy'), 3)


if __name__ == '__main__':
  absltest.main()
