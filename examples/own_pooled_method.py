# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Your own method in one place, without clients: entropy minimization.

The loss is the cross-entropy of labeled images plus the weighted mean entropy
of predictions for unlabeled images.

In a clone, this command trains the method; its settings are flags:

  python -m launch.train examples.own_pooled_method:ENTROPY_MINIMIZATION

References:
  Grandvalet, Bengio. Semi-supervised learning by entropy minimization. NeurIPS
  2004.
"""

import dataclasses
from typing import Any

import tensorflow as tf

import tff_semifl as sfl


@dataclasses.dataclass(frozen=True, kw_only=True)
class EntropyMinimization(sfl.PooledMethod):
  """Minimizes the entropy of predictions for unlabeled images."""

  entropy_weight: float = sfl.setting(
    0.1, 'Factor on the mean entropy of predictions, in nats.'
  )

  def loss(self, step: sfl.PooledStep, memory: Any) -> sfl.PooledStepOutput:
    """The loss of a step, and the logits of labeled images."""
    del memory
    # A single call, so that batch normalization uses one batch.
    labeled_logits, logits = step.logits(
      step.labeled_images(), step.weak_images()
    )
    supervised = tf.nn.sparse_softmax_cross_entropy_with_logits(
      step.labels, labeled_logits
    )
    entropy = tf.nn.softmax_cross_entropy_with_logits(
      tf.nn.softmax(logits), logits
    )
    return sfl.PooledStepOutput(
      tf.reduce_mean(supervised)
      + self.entropy_weight * tf.reduce_mean(entropy),
      labeled_logits,
    )


ENTROPY_MINIMIZATION = sfl.Pooled(method=EntropyMinimization())


def main(total_rounds: int = 20, output_dir: str = 'results') -> float:
  """Trains, and returns the accuracy on test images."""
  experiment = sfl.create_experiment(
    ENTROPY_MINIMIZATION,
    sfl.TASKS['digits'],
    steps_per_round=50,
    total_steps=50 * (total_rounds + 1),
    batch_size=32,
    learning_rate=0.1,
    average_decay=0.95,
    output_dir=output_dir,
    experiment_name='own_pooled_method',
  )
  with sfl.simulation_context():
    final = sfl.run(experiment, sfl.open_folder(experiment))
  print(f'accuracy after round {final.round_num}: {final.accuracy:.1%}')
  return final.accuracy


if __name__ == '__main__':
  main()
