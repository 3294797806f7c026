# SPDX-License-Identifier: Apache-2.0
"""Whether an epoch may end exactly at a snapshot, so that the index can be compared with it."""

from scrub.model.stream.coverage import Coverage, HistorySnapshot
from scrub.model.stream.heard import InOrder
from scrub.model.stream.state import StreamState


def may_end_at(state: StreamState, snapshot: HistorySnapshot, coverage: Coverage) -> bool:
    """Whether all history was read, and the snapshot shows all that the index shows."""
    is_ordered = isinstance(state.heard, InOrder)
    return is_ordered and state.is_read and coverage.meets(snapshot, state.unseen)
