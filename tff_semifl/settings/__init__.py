# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Settings as fields of frozen dataclasses, each written once.

A part is a frozen dataclass that derives from `Settings`. A field made by
`setting` has a default, a meaning and a range of values; a field made by
`choice` is one of several parts, chosen by name. Parts hold parts and form a
tree, in which no name occurs twice. `describe`, `as_dict` and `change` work on
the whole tree:

    @dataclasses.dataclass(frozen=True, kw_only=True)
    class Mixup(Settings):
      mixup_concentration: float = setting(0.75, 'a of Beta(a, a).', ABOVE_0)

    change(Mixup(), {'mixup_concentration': 1})

Flags, recorded hyperparameters, the table of all settings and error messages
are derived from such trees.
"""

from tff_semifl.settings.fields import Settings
from tff_semifl.settings.fields import choice
from tff_semifl.settings.fields import outside
from tff_semifl.settings.fields import record_reads
from tff_semifl.settings.fields import setting
from tff_semifl.settings.identity import TOLD_ELSEWHERE
from tff_semifl.settings.identity import identify
from tff_semifl.settings.references import qualified_name
from tff_semifl.settings.trees import Description
from tff_semifl.settings.trees import all_names
from tff_semifl.settings.trees import all_owners
from tff_semifl.settings.trees import as_dict
from tff_semifl.settings.trees import change
from tff_semifl.settings.trees import change_present
from tff_semifl.settings.trees import check_names
from tff_semifl.settings.trees import describe
from tff_semifl.settings.trees import describe_all
from tff_semifl.settings.trees import fill_in
from tff_semifl.settings.trees import find_owners
from tff_semifl.settings.trees import name_of
from tff_semifl.settings.trees import parts_of
from tff_semifl.settings.values import ABOVE_0
from tff_semifl.settings.values import ANY
from tff_semifl.settings.values import AT_LEAST_0
from tff_semifl.settings.values import AT_LEAST_1
from tff_semifl.settings.values import BELOW_1
from tff_semifl.settings.values import FOLDER_NAME
from tff_semifl.settings.values import FRACTION
from tff_semifl.settings.values import INSIDE_0_TO_1
from tff_semifl.settings.values import SHARE
from tff_semifl.settings.values import SettingError
from tff_semifl.settings.values import Values
from tff_semifl.settings.values import at_least
from tff_semifl.settings.values import between
from tff_semifl.settings.values import blame
from tff_semifl.settings.values import did_you_mean
from tff_semifl.settings.values import filled
from tff_semifl.settings.values import one_of
from tff_semifl.settings.values import one_of_or_outside
from tff_semifl.settings.values import show

__all__ = (
  'ABOVE_0',
  'ANY',
  'AT_LEAST_0',
  'AT_LEAST_1',
  'BELOW_1',
  'Description',
  'FOLDER_NAME',
  'FRACTION',
  'INSIDE_0_TO_1',
  'SHARE',
  'SettingError',
  'Settings',
  'TOLD_ELSEWHERE',
  'Values',
  'all_names',
  'all_owners',
  'as_dict',
  'at_least',
  'between',
  'blame',
  'change',
  'change_present',
  'check_names',
  'choice',
  'describe',
  'describe_all',
  'did_you_mean',
  'fill_in',
  'filled',
  'find_owners',
  'identify',
  'name_of',
  'one_of',
  'one_of_or_outside',
  'outside',
  'parts_of',
  'qualified_name',
  'record_reads',
  'setting',
  'show',
)
