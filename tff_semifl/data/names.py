# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Names of classes and clients, normalized."""

import unicodedata


def normalize(name: str) -> str:
  """A name in Unicode's composed form (NFC).

  An accented letter may be one character or, as in archives from a Mac, a
  letter and its accent.
  """
  return unicodedata.normalize('NFC', name)
