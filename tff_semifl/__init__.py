# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Semi-supervised federated learning on TensorFlow Federated."""

import pathlib

__version__ = '0.1.0'

# Tasks and programs are `tff_semifl.tasks` and `tff_semifl.launch`. When it is
# installed, they lie in the package's folder; in a clone, they lie beside it.
_FOLDER = pathlib.Path(__file__).parent
if not (_FOLDER / 'launch').is_dir():
  __path__.append(str(_FOLDER.parent))
