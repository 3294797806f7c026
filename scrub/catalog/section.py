# SPDX-License-Identifier: Apache-2.0
"""A YAML mapping with a fixed set of keys: any other key is a mistake."""

from collections.abc import Collection, Iterator

from yaml.nodes import Node, ScalarNode

from scrub.catalog import document, names
from scrub.catalog.document import Mistakes, NamedNode, line_of
from scrub.catalog.spelling import did_you_mean

_BOOLEAN = "tag:yaml.org,2002:bool"
_TRUE = ("true", "yes", "on")
_ID_MAX = 2**32 - 1  # as in the bytes of key-value pairs


class Section:
    """The values of a mapping by key; a key without a value counts as absent."""

    def __init__(
        self, node: Node, line: int, what: str, keys: Collection[str], mistakes: Mistakes
    ) -> None:
        self.line = line
        self.what = what
        self.mistakes = mistakes
        self._values: dict[str, Node] = {}
        self._empty: dict[str, int] = {}  # lines of keys without a value
        for entry in document.named_nodes(node, line, what, mistakes):
            if entry.name not in keys:
                hint = did_you_mean(entry.name, keys, "keys")
                mistakes.add(entry.line, f"unknown key '{entry.name}' in {what}", hint)
            elif document.is_null(entry.value):
                self._empty[entry.name] = entry.line
            else:
                self._values[entry.name] = entry.value

    def node(self, key: str) -> Node | None:
        return self._values.get(key)

    def line_of(self, key: str) -> int:
        """The line of a value; for an absent one, the first line of the section."""
        return line_of(self._values[key]) if key in self._values else self.line

    def add(self, key: str, message: str, hint: str | None = None) -> None:
        """Record a mistake in the value of a key."""
        self.mistakes.add(self.line_of(key), message, hint)

    def refuse_empty(self, key: str, hint: str) -> None:
        """Record a mistake if a key has no value, where one could take that for a choice."""
        if key in self._empty:
            self.mistakes.add(self._empty[key], f"'{key}' of {self.what} is empty", hint)

    def require(self, key: str, hint: str) -> Node | None:
        """The value of a key that must be there."""
        if key not in self._values:
            self.mistakes.add(self.line, f"{self.what} has no '{key}'", hint)
        return self.node(key)

    def text(self, key: str) -> str | None:
        node = self.node(key)
        if node is None:
            return None
        return document.text(node, f"'{key}' of {self.what}", self.mistakes)

    def id_number(self, key: str, default: int, *, least: int = 1) -> int:
        """The id under a key; the default if it is absent or a mistake."""
        text = self.text(key)
        if text is None:
            return default
        what = f"'{key}' of {self.what}"
        if not (text.isascii() and text.isdigit()):
            self.add(key, f"{what} is a number, not '{text}'")
            return default
        number = int(text) if len(text) <= len(str(_ID_MAX)) else _ID_MAX + 1
        if not least <= number <= _ID_MAX:
            self.add(key, f"{what} cannot be {text}", f"write a number from {least} to {_ID_MAX}")
            return default
        return number

    def flag(self, key: str) -> bool:
        """Whether a switch is on; it is off unless the file says otherwise."""
        node = self.node(key)
        if node is None:
            return False
        if not isinstance(node, ScalarNode) or node.tag != _BOOLEAN:
            self.add(key, f"'{key}' of {self.what} is a switch", "write true or false")
            return False
        return node.value.lower() in _TRUE

    def choice(self, key: str, allowed: Collection[str]) -> str | None:
        """One of a few words; None if the key is absent or its value is none of them."""
        word = self.text(key)
        if word is None or word in allowed:
            return word
        self.add(key, f"'{key}' of {self.what} cannot be '{word}'", f"write {' or '.join(allowed)}")
        return None

    def entries(self, key: str) -> Iterator[NamedNode]:
        """The names of a mapping and their values; none if the key is absent."""
        if (node := self.node(key)) is not None:
            what = f"'{key}' of {self.what}"
            yield from document.named_nodes(node, self.line_of(key), what, self.mistakes)

    def named_entries(self, key: str, noun: str) -> Iterator[NamedNode]:
        """The same for things of the catalog, which cannot have every name."""
        for entry in self.entries(key):
            if problem := names.problem_of(entry.name):
                self.mistakes.add(entry.line, f"the name of {noun} '{entry.name}' {problem}")
            yield entry

    def texts(self, key: str, noun: str) -> Iterator[tuple[NamedNode, str]]:
        """The names of a mapping whose values are single texts, each with its text."""
        for entry in self.entries(key):
            text = document.text(entry.value, f"{noun} '{entry.name}'", self.mistakes)
            if text is not None:
                yield entry, text

    def items(self, key: str) -> list[Node]:
        node = self.node(key)
        return (
            [] if node is None else document.items(node, f"'{key}' of {self.what}", self.mistakes)
        )
