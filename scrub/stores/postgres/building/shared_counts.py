# SPDX-License-Identifier: Apache-2.0
"""What was counted while several indexes were built together, as counts of each of them."""

from collections.abc import Mapping

from scrub.model.build import State
from scrub.stores.building import LOAD
from scrub.stores.postgres.building.builds import Build, Builds
from scrub.stores.postgres.connections import Connection

_SUMMED = ("rows", "fast", "slow", "retried", "conflicts")
_TOTAL = -1  # the number of the range that stands for all of a load


def share_counts(
    connection: Connection, builds: Builds, first: Build, entries: Mapping[str, int]
) -> dict[str, Build]:
    """Give the record of each index its own counts; the first one has those of all until then.

    Rows and chunks are those of the load, which was one for all. Entries are counted by whoever
    checked the indexes: the load adds up those of all indexes.
    """
    found = reversed(builds.of_table(connection, first.table_name))
    records = {of.indexes[0]: of for of in found if of.state is State.PUBLIC}
    sums = ", ".join(f"sum({name})" for name in _SUMMED)
    with connection.transaction():
        for index in entries.keys() & records.keys():  # others were dropped in this moment
            record = records[index].id
            connection.execute(
                f"INSERT INTO {builds.ranges} "
                f"(build, phase, number, done, entries, {', '.join(_SUMMED)}) "
                f"SELECT %s, phase, %s, true, %s, {sums} FROM {builds.ranges} "
                "WHERE build = %s AND phase = %s AND number <> %s GROUP BY phase",
                (record, _TOTAL, entries[index], first.id, LOAD, _TOTAL),
            )
            connection.execute(
                f"UPDATE {builds.ranges} SET build = %s WHERE build = %s AND phase = %s",
                (record, first.id, index),
            )
        connection.execute(
            f"DELETE FROM {builds.ranges} WHERE build = %s AND phase = %s AND number <> %s",
            (first.id, LOAD, _TOTAL),
        )
    return records
