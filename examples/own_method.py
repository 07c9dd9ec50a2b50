# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Your own method: SemiFL with weighted pseudo-labels.

As in SoftMatch, there is no threshold: the further the confidence of an image
is below the mean confidence of the last round, the less weight the image has.
The logarithm of the mean predicted probabilities is added to the logits in the
losses, so that rare classes count as much as frequent classes. The server sends
clients the mean confidence and the mean probabilities of the last round.

In a clone, this command trains the method; its settings are flags:

  python -m launch.train examples.own_method:SOFT_SEMIFL --softness=0.2

References:
  Chen, Tao, Fan, Wang, Wang, Schiele, Xie, Raj, Savvides. SoftMatch: Addressing
  the quantity-quality trade-off in semi-supervised learning. ICLR 2023.
"""

import dataclasses
from typing import Any

import tensorflow as tf

import tff_semifl as sfl


@dataclasses.dataclass(frozen=True, kw_only=True)
class SoftFixMix(sfl.FixMix):
  """Weights each image by the confidence of its pseudo-label."""

  softness: float = sfl.setting(
    0.2, 'Distance below the mean confidence at which the weight is 61%.'
  )

  def select(
    self, client: sfl.ClientContext, labels: sfl.PseudoLabels
  ) -> tf.Tensor:
    """The weight of each image, float32 [images] in 0..1."""
    below = tf.maximum(
      client.guidance['mean_confidence'] - labels.confidences, 0.0
    )
    return tf.exp(-((below / self.softness) ** 2) / 2)

  def logit_offset(
    self, client: sfl.ClientContext, labels: sfl.PseudoLabels
  ) -> tf.Tensor:
    """The offset that losses add to the logits, float32 [classes]."""
    del labels
    return tf.math.log(client.guidance['prior'] + 1e-6)

  def report(self, client: sfl.ClientContext, state: Any) -> Any:
    """A client's sums over images, which the server adds up over clients."""
    del state
    return {
      'confidence': tf.reduce_sum(client.labels.confidences),
      'classes': tf.reduce_sum(client.labels.probabilities, axis=0),
    }

  def init_guidance(self, model: sfl.ImageClassifier) -> Any:
    """The message of the server to clients in the first round."""
    return {
      # All weights are 1 in the first round.
      'mean_confidence': tf.constant(0.0),
      'prior': tf.fill([model.num_classes], 1 / model.num_classes),
    }

  def guidance(self, kept: Any, sums: Any, server: sfl.Server) -> Any:
    """The message of the server to clients in the next round."""
    del server
    num_images = tf.reduce_sum(sums['classes'])
    if_any = {
      'mean_confidence': sums['confidence'] / num_images,
      'prior': sums['classes'] / num_images,
    }
    return tf.nest.map_structure(
      lambda new, old: tf.where(num_images > 0, new, old), if_any, kept
    )


SOFT_SEMIFL = sfl.Alternating(client=SoftFixMix())


def main(total_rounds: int = 30, output_dir: str = 'results') -> float:
  """Trains, and returns the accuracy on test images."""
  experiment = sfl.create_experiment(
    SOFT_SEMIFL,
    sfl.TASKS['digits'],
    num_clients=10,
    clients_per_round=5,
    total_rounds=total_rounds,
    output_dir=output_dir,
    experiment_name='own_method',
  )
  with sfl.simulation_context():
    final = sfl.run(experiment, sfl.open_folder(experiment))
  print(f'accuracy after round {final.round_num}: {final.accuracy:.1%}')
  return final.accuracy


if __name__ == '__main__':
  main()
