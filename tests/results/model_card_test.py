# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of model cards."""

import dataclasses
import functools
import pathlib

from absl.testing import absltest
import numpy as np
import PIL.Image

from tests.export import small_model
from tff_semifl.experiment import export_formats
from tff_semifl.experiment import hparams_file
from tff_semifl.experiment import saved_experiment
from tff_semifl.export import scores as scores_lib
from tff_semifl.privacy import privacy_statement
from tff_semifl.results import model_card

_NAMES = ('cat', 'dog|wolf', 'owl')
_create_model = functools.cache(small_model.create)
_HPARAMS = hparams_file.Hparams(
  flags={
    'task': 'image_folder',
    'num_labeled': 40,
    'num_clients': 9,
    'clients_per_round': 3,
    'partition': 'dirichlet',
    'dirichlet_concentration': 0.3,
    'classes_per_client': None,
    'seed': 5,
    'total_rounds': 10,
    'learning_rate': 0.125,
    'output_dir': '/home/someone/results',
  },
  data='40 labeled images, and others',
  versions={'git_commit': 'c0ffee', 'tensorflow': '2.14.1'},
  system='semifl',
  notes=('1 of 90 test images are also labeled images',),
)


class ModelCardTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self._folder = pathlib.Path(self.create_tempdir().full_path)

  def _write(
    self,
    confusion=None,
    *,
    round_num=10,
    why_not_tested=None,
    privacy=None,
    hparams=_HPARAMS,
    confidence=None,
    choice=None,
    stated=None,
    **changes,
  ):
    scores = None
    if confusion is not None:
      labels, predicted = (
        np.repeat(each.ravel(), np.ravel(confusion))
        for each in np.indices(np.shape(confusion))
      )
      confidence = confidence or np.trace(confusion) / np.sum(confusion)
      rest = (1 - confidence) / 2
      probabilities = np.where(np.eye(3)[predicted], confidence, rest)
      scores = scores_lib.Scores(labels, probabilities.astype(np.float32))
    model_card.ModelCard(
      name='mine',
      model=_create_model((8, 12, 3)),
      class_names=_NAMES,
      hparams=hparams,
      trained=saved_experiment.TrainedModel(
        None, round_num, 0.5, 0.625, choice=choice
      ),
      files=[
        export_formats.ExportedFile(
          format='saved_model', file='.', num_bytes=1_234_567, scores=scores
        )
      ],
      why_not_tested=why_not_tested,
      privacy=privacy,
      stated=stated or {},
      **changes,
    ).write(self._folder)
    return (self._folder / 'README.md').read_text()

  def test_says_what_the_model_is_and_how_it_came_about(self):
    card = self._write([[30, 0, 0], [0, 30, 0], [0, 0, 30]])
    self.assertStartsWith(card, '# mine\n')
    for text in (
      'of 8x12 pixels',
      'cat, dog\\|wolf, owl',
      '| saved_model | . | 1.23 | 100.0% of 90 images',
      '| --task | image_folder |',
      '| --clients_per_round | 3 |',
      '| data | 40 labeled images, and others |',
      '1 of 90 test images are also labeled images',
      '| rounds | 10 of 10 |',
      '| --learning_rate | 0.125 |',
      '| git_commit | c0ffee |',
    ):
      self.assertIn(text, card)
    self.assertNotIn('/home/someone', card)
    self.assertNotIn('None', card)
    # The card has no warning about this training and these numbers.
    for text in ('not fully trained', 'not balanced', 'rivacy'):
      self.assertNotIn(text, card)

  def test_says_which_round_it_is_and_what_chose_it(self):
    choice = saved_experiment.Choice('validation/macro_f1', 9, 0.81)
    card = self._write(round_num=4, choice=choice)
    self.assertIn('| rounds | 4 of 10, ', card)
    self.assertIn('validation/macro_f1 (0.81)', card)
    self.assertIn('after round 9 of 10', card)
    self.assertNotIn('not fully trained', card)
    self.assertNotIn('test images chose', card)
    choice = saved_experiment.Choice('test/auc', 10, 0.5)
    card = self._write(round_num=4, choice=choice)
    self.assertIn('test images chose its round, by test/auc', card)
    self.assertNotIn('Training ended', card)

  def test_says_how_right_the_model_is(self):
    card = self._write([[9, 0, 1], [10, 20, 10], [0, 0, 0]])
    # 29 of 50, 9 of 10 and 20 of 40, with q = 1.96^2: Wilson's intervals are (k
    # + q/2 +- 1.96 sqrt(k (n - k) / n + q/4)) / (n + q).
    for text in (
      '58.0% of 50 images of 2 of 3 classes (95% interval 44.2% to 70.6%)',
      # Precision 9/19, and F1 18/29.
      '| cat | 10 | 90.0% (59.6% to 98.2%) | 47.4% (27.3% to 68.3%) | 0.62 |'
      ' owl (1) |',
      '| dog\\|wolf | 40 | 50.0% (35.2% to 64.8%) |',
      '| owl | 0 | no images |',
      'cat (10), owl (0).',
      '0 to 40 of a class',
    ):
      self.assertIn(text, card)
    with PIL.Image.open(self._folder / 'confusion_matrix.png') as fig:
      self.assertGreater(min(fig.size), 300)

  def test_says_how_far_probabilities_are_from_the_share_right(self):
    confusion = [[25, 25, 0], [25, 25, 0], [0, 0, 0]]
    card = self._write(confusion, confidence=0.95)
    # One bin has all images: the error is 0.95 - 0.5.
    for text in ('far too high', '95.0% on average', 'error of 45.0%'):
      self.assertIn(text, card)
    self.assertIn('about right', self._write(confusion, confidence=0.52))
    untested = self._write(why_not_tested='there are no images', round_num=4)
    for text in (
      '| saved_model | . | 1.23 | not tested |',
      ': there are no images.',
      'not fully trained: round 4 of 10',
    ):
      self.assertIn(text, untested)
    for text in ('calibration', 'confusion_matrix'):
      self.assertNotIn(text, untested)

  def test_says_what_is_promised_to_clients(self):
    promised = privacy_statement.PrivacyStatement(
      epsilon=3.25,
      delta=1e-5,
      num_rounds=10,
      num_clients=9,
      clients_per_round=3,
      noise_multiplier=4.0,
      clipping_norm=0.5,
    )
    card = self._write(why_not_tested='no images', privacy=promised)
    self.assertIn('Privacy: epsilon 3.25 at delta 1e-05 after 10 rounds.', card)
    for what in ('neighboring relation', 'sampling', 'covered', 'not covered'):
      self.assertIn(f'\n| {what} | ', card)
    self.assertIn('reasonable', card)
    known = dataclasses.replace(
      promised, epsilon=None, why_not_private='everybody knows the key'
    )
    card = self._write(why_not_tested='no images', privacy=known)
    self.assertIn('Privacy: none: everybody knows the key.', card)
    self.assertNotIn('epsilon', card)


if __name__ == '__main__':
  absltest.main()
