# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Trains your own Keras model with SemiFL.

A model takes float32 images in 0..255 and returns logits. Layers that change
their weights when called, such as Keras's `BatchNormalization`, cannot be
averaged; use `StaticBatchNormalization` instead.
"""

import tensorflow as tf

import tff_semifl as sfl


def create_model(task: sfl.ImageTask, seed: int) -> tf.keras.Model:
  """Creates a small convolutional network with seeded initial weights."""
  tf.keras.utils.set_random_seed(seed)
  return tf.keras.Sequential(
    [
      tf.keras.Input(task.image_shape),
      tf.keras.layers.Rescaling(1 / 255),
      tf.keras.layers.Conv2D(32, 3, padding='same', use_bias=False),
      sfl.StaticBatchNormalization(),
      tf.keras.layers.ReLU(),
      tf.keras.layers.MaxPooling2D(),
      tf.keras.layers.Flatten(),
      tf.keras.layers.Dense(task.num_classes),
    ]
  )


def main(total_rounds: int = 30, output_dir: str = 'results') -> float:
  """Trains, and returns the accuracy on test images."""
  experiment = sfl.create_experiment(
    'semifl',
    sfl.TASKS['digits'],
    create_model=create_model,
    num_clients=10,
    clients_per_round=5,
    total_rounds=total_rounds,
    output_dir=output_dir,
    experiment_name='own_model',
  )
  with sfl.simulation_context():
    final = sfl.run(experiment, sfl.open_folder(experiment))
  print(f'accuracy after round {final.round_num}: {final.accuracy:.1%}')
  return final.accuracy


if __name__ == '__main__':
  main()
