# SPDX-License-Identifier: Apache-2.0
"""Keys of whole tables: those that several rows have, and those that refer to no row.

Where tasks open the files themselves (`split_rows.SplitRows`):
    repeated_keys.find_repeated      unique keys and the primary key of a table, in one reading
    gathered_keys.gather_keys        the keys of a parent, unless there are too many to travel;
                                     `foreign_key_look.ForeignKeyLook` probes them in any scan
    unmatched_keys.find_unmatched    a foreign key whose parent has too many
Where only Spark reads the rows:
    repeated_keys.find_repeated_by_sql
    unmatched_keys.find_unmatched_by_sql

What they find out is `findings.KeyFindings`: numbers, what could not be read, and `named`, which
gives the violations. A failed job raises a PySparkException, as everywhere in `checks`.

A NULL in a key equals nothing and refers to nothing. Rows with the same primary key are copies of
one row: they violate the primary key, once for all of them, and no unique key. NaN equals NaN, -0.0
equals 0.0, and integers are equal whatever their width.
"""
