# SPDX-License-Identifier: Apache-2.0
"""Making Delta tables that a writer at hand would not make: their logs are edited."""

import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
from deltalake import write_deltalake

Action = dict[str, Any]


def write(path: Path, mode: str = "append", **columns: Any) -> None:
    write_deltalake(str(path), pa.table(columns), mode=mode)


def commit(table: Path, version: int) -> Path:
    return table / "_delta_log" / f"{version:020}.json"


def edit(table: Path, version: int, change: Callable[[Action], Action | None]) -> None:
    """Rewrite every action of a commit; None drops it."""
    path = commit(table, version)
    actions = [change(json.loads(line)) for line in path.read_text().splitlines()]
    path.write_text("".join(json.dumps(action) + "\n" for action in actions if action))


def with_protocol(*features: str, reader: int = 3) -> Callable[[Action], Action]:
    def change(action: Action) -> Action:
        if "protocol" not in action:
            return action
        protocol: Action = {"minReaderVersion": reader, "minWriterVersion": 7 if features else 5}
        if features:
            protocol |= {"readerFeatures": list(features), "writerFeatures": list(features)}
        return {"protocol": protocol}

    return change


def with_configuration(**settings: str) -> Callable[[Action], Action]:
    def change(action: Action) -> Action:
        if "metaData" in action:
            dotted = {name.replace("__", "."): value for name, value in settings.items()}
            action["metaData"]["configuration"].update(dotted)
        return action

    return change


def with_physical_names(action: Action) -> Action:
    if "metaData" in action:
        schema = json.loads(action["metaData"]["schemaString"])
        for number, field in enumerate(schema["fields"], 1):
            field["metadata"] = {
                "delta.columnMapping.id": number,
                "delta.columnMapping.physicalName": f"col-{number}",
            }
        action["metaData"]["schemaString"] = json.dumps(schema)
    return action


def with_deletion_vector(action: Action) -> Action:
    if "add" in action:
        action["add"]["deletionVector"] = {
            "storageType": "u",
            "pathOrInlineDv": "vBn[lx{q8@P<9BNH/isA",
            "offset": 1,
            "sizeInBytes": 36,
            "cardinality": 2,
        }
    return action


def committed_at(table: Path, version: int, seconds: float) -> None:
    """Set the time that Delta takes for a commit's: its file's."""
    os.utime(commit(table, version), (seconds, seconds))


def feature(*names: str) -> Callable[[Action], Action]:
    return with_protocol(*names)


REFUSED = {
    "deletion vectors": [feature("deletionVectors"), with_deletion_vector],
    "column mapping": [
        with_protocol(reader=2),
        with_physical_names,
        with_configuration(
            delta__columnMapping__mode="name", delta__columnMapping__maxColumnId="1"
        ),
    ],
    "variantType": [feature("variantType")],
    "frobnication": [feature("frobnication")],
    "catalog-managed": [feature("catalogManaged")],
}


def with_edits(lake: Path, edits: Sequence[Callable[[Action], Action]]) -> None:
    write(lake / "t", id=[1])
    for change in edits:
        edit(lake / "t", 0, change)
