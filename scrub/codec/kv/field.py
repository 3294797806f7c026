# SPDX-License-Identifier: Apache-2.0
"""What stands in which column of the arrays that compiled code works with.

The first five arrays are those of a `Layout`; rows of one refer to ranges of the next. `spans` says
for each slot of a row where its datum is held.
"""

# indexes
TABLE_ID, INDEX_ID, KEY_FROM, SUFFIX_FROM, SUFFIX_TO, UNIQUE, IS_PRIMARY = range(7)
FAMILIES_FROM, FAMILIES_TO, OWNER, DOMAINS_FROM, DOMAINS_TO = 7, 8, 9, 10, 11
# keys
SLOT, KIND, DESCENDING, IDENTIFIES = range(4)
# families
FAMILY_ID, FORM, COLUMNS_FROM, COLUMNS_TO = range(4)
# columns
COLUMN_ID, COLUMN_SLOT, COLUMN_KIND, ROLE = range(4)
# domains, which has a row for each slot of a table
RULE, LOW, HIGH, NEVER_NULL, DOMAIN_KIND = range(5)

TUPLE, ENTRY, BARE = 0, 1, 2
"""FORM, how a value is written: a tuple, a secondary entry (suffix and tuple), or one datum."""

STORED, COMPLETING = 0, 1
"""ROLE, why a column is in a tuple: it is kept there, or completes what its key does not tell."""

# spans
HELD, HELD_END = 0, 1  # the datum, from key or value; -1 when NULL or not there
PART, PART_END = 2, 3  # of a composite the part that came from the value; -1 without
SOURCE, SOURCE_END = 4, 5  # where the column's bytes are in the key; -1 if it is not in the key
TURNED, PROVEN = 6, 7  # whether those bytes are descending, and are known to be canonical
SUSPECT = 8  # 1 where key and value disagree, or the value cannot be the column's
SPAN = 9
