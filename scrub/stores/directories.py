# SPDX-License-Identifier: Apache-2.0
"""The directory of a store, which somebody may have moved, or not mounted yet."""

from pathlib import Path

from scrub.errors import StoreUnavailable
from scrub.model.table import Store
from scrub.stores.locations import is_local, normalise


def demand_directory(store: Store, catalog: Path) -> None:
    """Say that a local directory is not there, before anything that should be in it is missed."""
    root = normalise(store.path or ".")
    if is_local(root) and not Path(root).is_dir():
        raise StoreUnavailable(
            f"there is no directory {root}, where store {store.name} should be",
            hint=f"mount it, or correct the path of the store in {catalog}",
        )
