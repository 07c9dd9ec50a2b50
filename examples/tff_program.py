# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Trains SemiFL with TFF's own program, `tff.learning.programs.train_model`.

`bind_server_data` turns SemiFL's process into a `LearningProcess` that contains
the server's images. TFF's data source samples the cohorts.
"""

import asyncio
import collections
import pathlib

import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

import tff_semifl as sfl


def main(
  total_rounds: int = 10, output_dir: str = 'results/tff_program'
) -> None:
  """Trains, and writes checkpoints, the model and the metrics of each round."""
  experiment = sfl.create_experiment(
    'semifl',
    sfl.TASKS['digits'],
    num_clients=10,
    clients_per_round=5,
    total_rounds=total_rounds,
  )
  server = experiment.data.labeled

  @tff.tensorflow.computation
  def server_data() -> tf.data.Dataset:
    return tf.data.Dataset.from_tensors(
      collections.OrderedDict(image=server.images, label=server.labels)
    )

  pool, shares = experiment.data.unlabeled, np.stack(experiment.data.shares)

  @tff.tensorflow.computation(tf.string)
  def client_data(client_id: tf.Tensor) -> tf.data.Dataset:
    number = tf.strings.to_number(client_id, tf.int32)
    images = tf.gather(pool.images, tf.gather(shares, number))
    return tf.data.Dataset.from_tensors(
      collections.OrderedDict(client_id=number, image=images)
    )

  process = tff.simulation.compose_dataset_computation_with_learning_process(
    client_data,
    sfl.bind_server_data(experiment.process, server_data),
  )
  folder = pathlib.Path(output_dir)
  with sfl.simulation_context() as context:
    tff.framework.set_default_context(
      tff.program.NativeFederatedContext(sfl.AsyncContext(context))
    )
    asyncio.run(
      tff.learning.programs.train_model(
        train_process=process,
        train_data_source=tff.program.ClientIdDataSource(
          [str(number) for number in range(len(shares))]
        ),
        train_per_round_clients=5,
        train_total_rounds=total_rounds,
        program_state_manager=tff.program.FileProgramStateManager(
          folder / 'states'
        ),
        model_output_manager=tff.program.SavedModelFileReleaseManager(
          folder / 'model', 'weights_'
        ),
        train_metrics_manager=tff.program.CSVFileReleaseManager(
          folder / 'metrics.csv', key_fieldname='round'
        ),
        evaluation_manager=None,
        evaluation_periodicity=1,
      )
    )


if __name__ == '__main__':
  main()
