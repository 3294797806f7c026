# SPDX-License-Identifier: Apache-2.0
"""What each kind of defect means, in a sentence: the rules of formats that list them."""

from collections.abc import Mapping

from scrub.model.defect import DefectKind

RULES: Mapping[DefectKind, str] = {
    DefectKind.MISSING: "A row has no entry in the index.",
    DefectKind.DANGLING: "An entry of the index belongs to no row, or its row does not produce it.",
    DefectKind.WRONG_STORED_VALUE: "An entry has the right key, but its stored columns differ.",
    DefectKind.DUPLICATE_ENTRY: "An entry is in the index more often than its row is in the table.",
    DefectKind.DUPLICATE_KEY: "Several rows have the same primary key.",
    DefectKind.UNIQUE_VIOLATION: "Several rows share a key that is declared as unique.",
    DefectKind.INVALID_ENCODING: "Stored bytes cannot be read as the declared type.",
    DefectKind.INVALID_COMPOSITE: "The key and the value of one column disagree.",
    DefectKind.NONCANONICAL: "Stored bytes can be read, but are not how the value is written.",
    DefectKind.MISSING_FAMILY: "A row lacks the pair that every row has.",
    DefectKind.UNEXPECTED_KEY: "A key belongs to no index of the catalog.",
    DefectKind.KEY_ORDER: "A pair is stored after one that it belongs before.",
    DefectKind.NULL_VIOLATION: "A column that is never NULL holds NULL.",
    DefectKind.CHECK_VIOLATION: "A CHECK of the catalog is false for a row.",
    DefectKind.FOREIGN_KEY_VIOLATION: "A foreign key of a row refers to no row.",
}
