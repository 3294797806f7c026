# SPDX-License-Identifier: Apache-2.0
"""Parts of a stream's state as JSON has them, and back: what was written is read unchanged."""

from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from typing import Any, TypeAlias

from scrub.model.stream.changes import Positions
from scrub.model.stream.coverage import HistorySnapshot, MustCover
from scrub.model.stream.heard import Heard, InOrder, LastChange, OutOfOrder, Window
from scrub.model.stream.keys import Key, Slice, Stretch
from scrub.model.stream.state import StreamState
from scrub.model.stream.vnodes import Floor, Vnode

Record: TypeAlias = dict[str, Any]

_DECIMAL = "decimal"


def key_record(key: Key | None) -> list[Any] | None:
    return None if key is None else [_value_record(value) for value in key]


def key_of(record: list[Any] | None) -> Key | None:
    return None if record is None else tuple(map(_value_of, record))


def _value_record(value: object) -> object:
    if isinstance(value, Decimal):
        return {_DECIMAL: str(value)}
    assert isinstance(value, bool | int | str), f"no part of a key: {type(value).__name__}"
    return value


def _value_of(record: Any) -> object:
    return Decimal(record[_DECIMAL]) if isinstance(record, dict) else record


def vnode_record(vnode: Vnode) -> Record:
    return {
        "low": key_record(vnode.slice.low),
        "high": key_record(vnode.slice.high),
        "passed_to": key_record(vnode.passed_to),
        "is_finished": vnode.is_finished,
        "floors": [_floor_record(floor) for floor in vnode.floors],
        "must_cover": _must_cover_record(vnode.must_cover),
        "rows_read": vnode.rows_read,
        "rows_expected": vnode.rows_expected,
    }


def vnode_of(record: Mapping[str, Any]) -> Vnode:
    return Vnode(
        slice=Slice(key_of(record["low"]), key_of(record["high"])),
        passed_to=key_of(record["passed_to"]),
        is_finished=record["is_finished"],
        floors=tuple(map(_floor_of, record["floors"])),
        must_cover=_must_cover_of(record["must_cover"]),
        rows_read=record["rows_read"],
        rows_expected=record["rows_expected"],
    )


def awaited_record(state: StreamState) -> Record:
    """What later snapshots have to show, beside what single vnodes demand."""
    return {
        "unseen": _must_cover_record(state.unseen),
        "rereads": [[key_record(k), _must_cover_record(must)] for k, must in state.rereads.items()],
        "reread_at": [
            [key_record(k), at.token, _positions_record(at.ceiling)]
            for k, at in state.reread_at.items()
        ],
    }


def with_awaited(state: StreamState, record: Mapping[str, Any]) -> StreamState:
    return replace(
        state,
        unseen=_must_cover_of(record["unseen"]),
        rereads={
            tuple(map(_value_of, key)): _must_cover_of(must) for key, must in record["rereads"]
        },
        reread_at={
            tuple(map(_value_of, key)): HistorySnapshot(token, _positions_of(ceiling))
            for key, token, ceiling in record["reread_at"]
        },
    )


def _floor_record(floor: Floor) -> Record:
    return {
        "after": key_record(floor.stretch.after),
        "up_to": key_record(floor.stretch.up_to),
        "snapshot": floor.snapshot.token,
        "ceiling": _positions_record(floor.snapshot.ceiling),
    }


def _floor_of(record: Mapping[str, Any]) -> Floor:
    return Floor(
        Stretch(key_of(record["after"]), key_of(record["up_to"])),
        HistorySnapshot(record["snapshot"], _positions_of(record["ceiling"])),
    )


def _must_cover_record(must: MustCover) -> Record:
    return {
        "positions": _positions_record(must.positions),
        "transactions": sorted(must.transactions),
        "snapshot": must.snapshot,
    }


def _must_cover_of(record: Mapping[str, Any]) -> MustCover:
    return MustCover(
        positions=_positions_of(record["positions"]),
        transactions=frozenset(record["transactions"]),
        snapshot=record["snapshot"],
    )


def _positions_record(positions: Positions) -> Record:
    return {partition: list(position) for partition, position in positions.items()}


def _positions_of(record: Mapping[str, list[int]]) -> Positions:
    return {partition: tuple(position) for partition, position in record.items()}


def heard_record(heard: Heard) -> Record:
    if isinstance(heard, InOrder):
        return {"marks": _positions_record(heard.marks)}
    windows = {name: _window_record(window) for name, window in heard.windows.items()}
    return {"disorder": heard.disorder, "windows": windows}


def heard_of(record: Mapping[str, Any]) -> Heard:
    if "marks" in record:
        return InOrder(_positions_of(record["marks"]))
    windows = {name: _window_of(window) for name, window in record["windows"].items()}
    return OutOfOrder(record["disorder"], windows)


def _window_record(window: Window) -> Record:
    return {
        "arrivals": window.arrivals,
        "horizon": None if window.horizon is None else list(window.horizon),
        "recent": [[number, list(position)] for number, position in window.recent],
        "last": [
            [key_record(key), list(last.position), last.is_deletion]
            for key, last in window.last.items()
        ],
    }


def _window_of(record: Mapping[str, Any]) -> Window:
    last = {
        tuple(map(_value_of, key)): LastChange(tuple(position), is_deletion)
        for key, position, is_deletion in record["last"]
    }
    return Window(
        arrivals=record["arrivals"],
        horizon=None if record["horizon"] is None else tuple(record["horizon"]),
        recent=tuple((number, tuple(position)) for number, position in record["recent"]),
        last=last,
    )
