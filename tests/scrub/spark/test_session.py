# SPDX-License-Identifier: Apache-2.0
"""Sessions of our own: how they end."""

from threading import Event

from scrub.spark import session

PATIENCE_SECONDS = 10


class SlowServer:
    """Looks only now and then whether it should end, like PySpark's."""

    def __init__(self) -> None:
        self.may_end, self.has_ended = Event(), Event()

    def shutdown(self) -> None:
        self.may_end.wait(PATIENCE_SECONDS)
        self.has_ended.set()


class Context:
    def __init__(self, server: SlowServer) -> None:
        self._accumulatorServer: SlowServer | None = server


def test_the_server_of_accumulators_ends_while_nobody_waits_for_it() -> None:
    server = SlowServer()
    context = Context(server)
    session._leave_accumulators(context)
    assert context._accumulatorServer is None, "PySpark would wait for it"
    assert not server.has_ended.is_set()
    server.may_end.set()
    assert server.has_ended.wait(PATIENCE_SECONDS)
    session._leave_accumulators(context)  # of a session that has ended, there is none
