# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The flags that say which model is trained."""

from absl import flags

MODEL = flags.DEFINE_enum(
  'model',
  'wide_resnet',
  [
    'decomposed_wide_resnet',
    'emnist_cnn',
    'fedmatch_resnet',
    'post_activation_resnet',
    'reddi_emnist_cnn',
    'resnet',
    'wide_resnet',
  ],
  "Which model: wide_resnet, SemiFL's; resnet, the ResNet-9 or -18 of its"
  " authors' code; post_activation_resnet, the benchmark's ResNet-18;"
  ' emnist_cnn and reddi_emnist_cnn, its small networks (D22);'
  ' decomposed_wide_resnet, with kernels of two parts (B.5);'
  " fedmatch_resnet, FedMatch's own ResNet-9.",
)
MODEL_DEPTH = flags.DEFINE_integer(
  'model_depth',
  None,
  'Depth of the model. By default that of the task, 7 for digits and 28 for'
  ' cifar10, say, or 9 for --model=resnet. The others have one depth.',
  lower_bound=1,
)
MODEL_WIDTH = flags.DEFINE_integer(
  'model_width',
  None,
  'Width of the WideResNet. By default that of the task: 2, but 8 for cifar100.'
  ' The others have none.',
  lower_bound=1,
)
NORMALIZATION = flags.DEFINE_enum(
  'normalization',
  'static_batch',
  ['group', 'static_batch'],
  "The paper's static batch normalisation, or group normalisation, which needs"
  ' no statistics of batches.',
)
TRAIN_IN_BFLOAT16 = flags.DEFINE_bool(
  'train_in_bfloat16',
  False,
  'Train in bfloat16, but for normalisations: half the memory, and faster on'
  ' newer GPUs. Weights, pseudo-labels and evaluation stay float32.',
)
JIT_COMPILE = flags.DEFINE_bool(
  'jit_compile',
  False,
  'Have XLA compile the training passes of the model, once for each size of a'
  ' batch. Not for --runtime=native, whose worker has no XLA.',
)
