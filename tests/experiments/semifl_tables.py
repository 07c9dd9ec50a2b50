# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The accuracies of SemiFL's Tables 1, 2, 3 and 5, in percent, as printed.

In parentheses is what the paper calls standard errors.
"""

COLUMNS = (
  ('cifar10', 250),
  ('cifar10', 4000),
  ('svhn', 250),
  ('svhn', 1000),
  ('cifar100', 2500),
  ('cifar100', 10_000),
)
FULL_COLUMNS = (('cifar10', None), ('svhn', None), ('cifar100', None))
# By system and partition: accuracies in the order of the columns.
TABLE_1 = {
  ('semifl', 'classes2'): (
    '60.0 (0.9), 85.3 (0.3), 87.5 (1.1), 92.2 (0.8), 35.2 (0.3), 62.1 (0.4)'
  ),
  ('semifl', 'dirichlet0.1'): (
    '63.0 (0.6), 84.5 (0.4), 91.2 (0.3), 93.0 (0.5), 49.0 (1.0), 68.0 (0.2)'
  ),
  ('semifl', 'dirichlet0.3'): (
    '71.9 (1.2), 88.9 (0.3), 94.0 (0.5), 95.2 (0.2), 54.9 (1.4), 70.0 (0.3)'
  ),
  ('semifl', 'iid'): (
    '88.2 (0.3), 93.1 (0.1), 96.8 (0.3), 96.9 (0.1), 61.3 (1.2), 72.1 (0.2)'
  ),
  ('fedmatch_as_in_semifl', 'classes2'): (
    '41.3 (1.1), 58.3 (1.0), 58.2 (3.1), 84.3 (1.0), 17.7 (0.5), 30.5 (0.8)'
  ),
  ('fedmatch_as_in_semifl', 'dirichlet0.1'): (
    '41.6 (1.0), 58.9 (0.7), 58.4 (3.4), 84.3 (0.6), 17.5 (0.5), 30.8 (0.6)'
  ),
  ('fedmatch_as_in_semifl', 'dirichlet0.3'): (
    '41.2 (1.1), 58.4 (0.6), 59.1 (2.8), 84.0 (1.1), 17.8 (0.4), 31.1 (0.5)'
  ),
  ('fedmatch_as_in_semifl', 'iid'): (
    '41.7 (1.1), 58.6 (0.5), 58.6 (3.0), 84.3 (0.9), 17.6 (0.3), 31.3 (1.0)'
  ),
  ('fedrgd_as_in_semifl', 'classes2'): (
    '32.7 (3.6), 48.9 (1.4), 21.2 (2.2), 21.6 (2.3), 13.8 (1.4), 26.5 (3.0)'
  ),
  ('fedrgd_as_in_semifl', 'dirichlet0.1'): (
    '31.5 (2.9), 45.2 (0.8), 20.0 (4.0), 23.8 (3.4), 13.4 (1.3), 23.6 (2.6)'
  ),
  ('fedrgd_as_in_semifl', 'dirichlet0.3'): (
    '32.5 (3.0), 46.9 (1.6), 24.8 (5.1), 22.0 (3.9), 13.1 (2.0), 23.8 (1.9)'
  ),
  ('fedrgd_as_in_semifl', 'iid'): (
    '33.2 (1.9), 47.8 (1.7), 21.3 (6.5), 20.7 (1.1), 13.3 (1.4), 23.8 (2.6)'
  ),
  ('supervised_fedavg', 'classes2'): '51.5 (3.6), 72.3 (4.4), 3.1 (0.3)',
  ('supervised_fedavg', 'dirichlet0.1'): '85.0 (0.6), 95.8 (0.1), 74.0 (0.4)',
  ('supervised_fedavg', 'dirichlet0.3'): '91.6 (0.1), 96.8 (0.0), 76.9 (0.1)',
  ('supervised_fedavg', 'iid'): '94.3 (0.1), 97.5 (0.0), 77.8 (0.2)',
  ('labels_alone', None): (
    '42.4 (1.8), 76.9 (0.2), 77.1 (2.9), 90.4 (0.5), 27.2 (0.7), 59.3 (0.1)'
  ),
  ('pi_model', None): (
    '45.7 (4.0), 86.0 (0.4), 81.0 (1.9), 92.5 (0.4), 42.8 (0.5), 62.1 (0.1)'
  ),
  ('pseudo_labeling', None): (
    '50.2 (0.4), 83.9 (0.3), 79.8 (1.1), 90.1 (0.6), 42.6 (0.5), 63.8 (0.2)'
  ),
  ('mean_teacher', None): (
    '67.7 (2.3), 90.8 (0.2), 96.4 (0.1), 96.6 (0.1), 46.1 (0.6), 64.2 (0.2)'
  ),
  ('mixmatch', None): (
    '89.0 (0.9), 93.6 (0.1), 96.0 (0.2), 96.5 (0.3), 60.1 (0.4), 71.7 (0.3)'
  ),
  ('uda', None): (
    '91.2 (1.1), 95.1 (0.2), 94.3 (2.8), 97.5 (0.2), 66.9 (0.2), 75.5 (0.3)'
  ),
  ('remixmatch', None): (
    '94.6 (0.1), 95.3 (0.1), 97.1 (0.5), 97.4 (0.1), 72.6 (0.3), 77.0 (0.6)'
  ),
  ('fixmatch', None): (
    '94.9 (0.7), 95.7 (0.1), 97.5 (0.4), 97.7 (0.1), 71.7 (0.1), 77.4 (0.1)'
  ),
  ('all_labels', None): '95.3 (0.1), 97.3 (0.0), 79.3 (0.1)',
}
# CIFAR-10 with 4000 labels, without deviations. Its last row is Table 1's.
TABLE_2 = {
  ('fedavg_fixmatch', 'classes2'): '41.01',
  ('fedavg_fixmatch', 'iid'): '40.26',
  ('parallel_semifl', 'classes2'): '48.89',
  ('parallel_semifl', 'iid'): '47.03',
  ('batch_label_semifl', 'classes2'): '80.42',
  ('batch_label_semifl', 'iid'): '81.70',
}
# CIFAR-10. Its second row, with the statistics of server and clients, is Table
# 1's.
TABLE_3_SERVER_ONLY = {
  (250, 'classes2'): '60.0 (0.8)',
  (250, 'iid'): '86.3 (0.2)',
  (4000, 'classes2'): '85.5 (0.1)',
  (4000, 'iid'): '93.1 (0.2)',
}
# CIFAR-10 with 4000 labels. Its last row is Table 1's too.
TABLE_5 = {
  ('one_epoch', 'classes2'): '83.4 (0.5)',
  ('one_epoch', 'iid'): '88.9 (0.3)',
  ('no_mixup', 'classes2'): '84.2 (0.4)',
  ('no_mixup', 'iid'): '91.3 (0.2)',
  ('no_global_momentum', 'classes2'): '85.4 (0.6)',
  ('no_global_momentum', 'iid'): '92.4 (0.1)',
}
FIGURE_2 = ('fedsgd_fixmatch', 'fedsgd_fixmatch_as_in_semifl')
