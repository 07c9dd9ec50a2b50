# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The registry of all tasks by name."""

from tff_semifl.tasks import cifar10
from tff_semifl.tasks import cifar100
from tff_semifl.tasks import digits
from tff_semifl.tasks import emnist
from tff_semifl.tasks import image_folder
from tff_semifl.tasks import stl10
from tff_semifl.tasks import svhn

TASKS = {
  'digits': digits.Digits(),
  'cifar10': cifar10.CIFAR10(),
  'cifar100': cifar100.CIFAR100(),
  'emnist': emnist.EMNIST(),
  'stl10': stl10.STL10(),
  'svhn': svhn.SVHN(),
  'image_folder': image_folder.ImageFolder(),
}
