# SPDX-License-Identifier: Apache-2.0
"""The session in which a build's steps run, and what becomes of it when others need the server."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import cached_property

from scrub.errors import StoreUnavailable
from scrub.stores.building import Disconnected, GaveWay
from scrub.stores.postgres.briefly import UNHURRIED_PATIENCE_MIN, Brief, Lookout, briefly, patience
from scrub.stores.postgres.connections import (
    Connection,
    connect,
    require_psycopg,
    safe_message,
    server_message,
)
from scrub.stores.postgres.quoting import literal

_LOST_MILLISECONDS = 5_000
_SORTING_MEMORY = "64MB"  # enough for the largest chunk; less is taken for smaller ones


class BuildSession:
    """A session that is opened when it is needed, and again when it was lost."""

    def __init__(self, conninfo: str) -> None:
        self.others_write = True  # for all that is known
        self.took_its_time = False  # the last step that went as others allow
        self._conninfo = conninfo
        self._connection: Connection | None = None
        self._lookout: Lookout | None = None
        self._has_no_room = False

    @property
    def connection(self) -> Connection:
        if self._connection is None or self._connection.closed:
            self._connection = self._connect()
            self._connection.execute(f"SET work_mem = {literal(_SORTING_MEMORY)}")
            # How much of a range a chunk takes is guessed far too high; compiling would not pay.
            self._connection.execute("SET jit = off")
        return self._connection

    def _connect(self, **parameters: object) -> Connection:
        made = require_psycopg().conninfo.make_conninfo(self._conninfo, **parameters)
        try:
            connection = connect(made)
        except StoreUnavailable as error:
            raise Disconnected(str(error), hint=error.hint) from error
        connection.autocommit = True
        return connection

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        self._dismiss_lookout()

    @cached_property
    def patience(self) -> float:
        return patience(self.connection)

    def briefly(self, durable: bool = True) -> AbstractContextManager[Brief]:
        """Not durable: steps that are simply done again if a crash of the server undoes them."""
        return briefly(self.connection, self.patience, durable)

    def as_others_allow(self, unless: str) -> AbstractContextManager[Brief]:
        """Such a step; without haste if the last one saw nobody who could wait for it.

        One without haste also ends when the condition holds: it is not wanted any more.
        """
        is_hurried = self.others_write or self.patience < UNHURRIED_PATIENCE_MIN
        self.took_its_time = not is_hurried and self._can_look_out()
        if self.took_its_time:
            return self.unhurriedly(durable=False, unless=unless)
        return self.briefly(durable=False)

    def _can_look_out(self) -> bool:
        """Whether the server has room for another session of ours; asked once."""
        if not self._has_no_room:
            try:
                self._look_out()
            except Disconnected:
                self._has_no_room = True
        return not self._has_no_room

    def _look_out(self) -> Lookout:
        connection = self.connection
        if self._lookout is None or self._lookout.connection is not connection:
            self._dismiss_lookout()
            # A network that lost it must not keep the step waiting.
            other = self._connect(tcp_user_timeout=_LOST_MILLISECONDS)
            self._lookout = Lookout(connection, other)
        return self._lookout

    @contextmanager
    def unhurriedly(
        self, durable: bool = True, queues: bool = False, unless: str = "false"
    ) -> Iterator[Brief]:
        """A transaction that goes on until somebody waits for it."""
        try:
            with self._look_out().unhurriedly(durable, queues, unless) as brief:
                yield brief
        except GaveWay:
            self.others_write = True
            self._dismiss_lookout()  # it may be what was lost
            raise

    def _dismiss_lookout(self) -> None:
        if self._lookout is not None:
            self._lookout.close()
            self._lookout = None

    @contextmanager
    def watched(self, on_giving_way: Callable[[], None] | None = None) -> Iterator[None]:
        """The server's errors in our words."""
        psycopg = require_psycopg()
        try:
            yield
        except GaveWay:
            if on_giving_way is not None:
                with self.watched():
                    on_giving_way()
            raise
        except psycopg.Error as error:
            if isinstance(error, psycopg.errors.QueryCanceled):
                raise GaveWay(server_message(error)) from error  # meant for what was done before
            reason = f"PostgreSQL: {safe_message(error, self._conninfo)}"
            if self._connection is None or self._connection.closed:
                raise Disconnected(reason) from error
            raise StoreUnavailable(reason) from error
