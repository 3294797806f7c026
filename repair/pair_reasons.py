# SPDX-License-Identifier: Apache-2.0
"""Why something about a pair is refused, and what people can do."""

from scrub.stores.repairing import Reason

NOT_SAID: Reason = (
    "the defect does not say which pair it is",
    "check again without --redact, and repair from that",
)
OUTDATED: Reason = (
    "the catalog has no such index any more, or its keys begin otherwise",
    "check again with this catalog, and repair from that",
)
ROW_UNREADABLE: Reason = (
    "the row it belongs to cannot be read, is there twice, or has a value that its column cannot "
    "have, so its entries are unknown",
    "correct the row first: scrub check --checks physical reports what is wrong with it",
)
ROW_GONE: Reason = (
    "no row asks for this entry now, or not under the key that its columns have",
    "check again, and repair from that",
)
WHOSE: Reason = (
    "the bytes do not show which row the entry belongs to",
    "remove the pair by hand, and repair again: the entry that is missing then is put",
)
NO_VALUE: Reason = (
    "the table has a value that its column cannot have, and no index holds the right one",
    "write the row again from its source, or correct the column's type in the catalog",
)
OF_ANOTHER_ROW: Reason = (
    "another row's entry is under its key, and is not to be deleted",
    "decide about that entry first; the one that is missing is put then",
)
NO_SPELLING: Reason = (
    "it cannot be written again under the same key without losing what it says: its key is not in "
    "canonical encoding, or it holds a column that the catalog does not know",
    "write the row again with the system that owns it, or complete the catalog",
)
