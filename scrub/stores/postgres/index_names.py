# SPDX-License-Identifier: Apache-2.0
"""The names of everything that belongs to an index, known without reading the table."""

from dataclasses import dataclass

from scrub.stores.postgres.quoting import qualified

_NAME_BYTES_MAX = 63


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexNames:
    """An index table, and everything named after it."""

    index: str
    schema: str
    relation_name: str

    @property
    def relation(self) -> str:
        return qualified(self.schema, self.relation_name)

    @property
    def temporary(self) -> str:
        """Where writers record what they do while the index is loaded."""
        return self._beside("recorded")

    @property
    def suspects(self) -> str:
        """Rows whose entry another row may have taken."""
        return self._beside("suspects")

    @property
    def helpers(self) -> tuple[str, str]:
        """Relations that are there only while the index is built."""
        return self.temporary, self.suspects

    @property
    def keeper(self) -> str:
        """The function that keeps the index when the table is written to."""
        return self._beside("keep")

    @property
    def emptier(self) -> str:
        """The function that empties the index when the table is truncated."""
        return self._beside("truncate")

    def _beside(self, purpose: str) -> str:
        return qualified(self.schema, self.name_with(purpose))

    def name_with(self, purpose: str) -> str:
        """A name for something that belongs to the index, shortened to what PostgreSQL allows."""
        ending = f"__{purpose}"
        room = _NAME_BYTES_MAX - len(ending.encode())
        whole = self.relation_name.encode()
        if len(whole) <= room:
            return self.relation_name + ending
        from hashlib import blake2b

        digest = blake2b(whole, digest_size=5).hexdigest()
        kept = whole[: room - len(digest) - 1].decode(errors="ignore")
        return f"{kept}_{digest}{ending}"
