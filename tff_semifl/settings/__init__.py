# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Settings as fields of frozen dataclasses, each declared in one place.

A part is a frozen dataclass that derives from `Settings`. A field made by
`setting` has a default, a meaning and a range of values. A field made by
`choice` holds one of several parts, chosen by name. A part and the parts in its
fields form a tree, in which no name occurs twice. `describe`, `as_dict` and
`change` work on the whole tree:

    @dataclasses.dataclass(frozen=True, kw_only=True)
    class Mixup(Settings):
      mixup_concentration: float = setting(0.75, 'a of Beta(a, a).', ABOVE_0)

    change(Mixup(), {'mixup_concentration': 1})

Flags, records, error messages and the table of all settings use such trees.
"""

from tff_semifl.settings.fields import ABOVE_0 as ABOVE_0
from tff_semifl.settings.fields import ANY as ANY
from tff_semifl.settings.fields import AT_LEAST_0 as AT_LEAST_0
from tff_semifl.settings.fields import AT_LEAST_1 as AT_LEAST_1
from tff_semifl.settings.fields import BELOW_1 as BELOW_1
from tff_semifl.settings.fields import FOLDER_NAME as FOLDER_NAME
from tff_semifl.settings.fields import FRACTION as FRACTION
from tff_semifl.settings.fields import INSIDE_0_TO_1 as INSIDE_0_TO_1
from tff_semifl.settings.fields import SHARE as SHARE
from tff_semifl.settings.fields import SettingError as SettingError
from tff_semifl.settings.fields import Settings as Settings
from tff_semifl.settings.fields import Values as Values
from tff_semifl.settings.fields import at_least as at_least
from tff_semifl.settings.fields import between as between
from tff_semifl.settings.fields import blame as blame
from tff_semifl.settings.fields import choice as choice
from tff_semifl.settings.fields import did_you_mean as did_you_mean
from tff_semifl.settings.fields import filled as filled
from tff_semifl.settings.fields import one_of as one_of
from tff_semifl.settings.fields import one_of_or_outside as one_of_or_outside
from tff_semifl.settings.fields import outside as outside
from tff_semifl.settings.fields import setting as setting
from tff_semifl.settings.fields import show as show
from tff_semifl.settings.identity import TOLD_ELSEWHERE as TOLD_ELSEWHERE
from tff_semifl.settings.identity import identify as identify
from tff_semifl.settings.references import qualified_name as qualified_name
from tff_semifl.settings.trees import Description as Description
from tff_semifl.settings.trees import all_names as all_names
from tff_semifl.settings.trees import all_owners as all_owners
from tff_semifl.settings.trees import as_dict as as_dict
from tff_semifl.settings.trees import change as change
from tff_semifl.settings.trees import change_present as change_present
from tff_semifl.settings.trees import check_names as check_names
from tff_semifl.settings.trees import describe as describe
from tff_semifl.settings.trees import describe_all as describe_all
from tff_semifl.settings.trees import fill_in as fill_in
from tff_semifl.settings.trees import find_owners as find_owners
from tff_semifl.settings.trees import name_of as name_of
from tff_semifl.settings.trees import parts_of as parts_of
