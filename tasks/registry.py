# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The registry of all tasks by name."""

from tasks import cifar10
from tasks import cifar100
from tasks import digits
from tasks import emnist
from tasks import image_folder
from tasks import stl10
from tasks import svhn

TASKS = {
  'digits': digits.Digits(),
  'cifar10': cifar10.CIFAR10(),
  'cifar100': cifar100.CIFAR100(),
  'emnist': emnist.EMNIST(),
  'stl10': stl10.STL10(),
  'svhn': svhn.SVHN(),
  'image_folder': image_folder.ImageFolder(),
}
