# SPDX-License-Identifier: Apache-2.0
"""A YAML file as nodes with line numbers, and the mistakes found while reading them."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import yaml
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from scrub.errors import Mistake, UsageError, first_line

_NULL = "tag:yaml.org,2002:null"


@dataclass(slots=True)
class Mistakes:
    """All mistakes of one file. Reading continues after each, so that all are found."""

    found: list[Mistake] = field(default_factory=list)

    def add(self, line: int, message: str, hint: str | None = None) -> None:
        self.found.append(Mistake(line, message, hint))

    def in_order(self) -> tuple[Mistake, ...]:
        return tuple(sorted(dict.fromkeys(self.found), key=lambda mistake: mistake.line))


class NamedNode(NamedTuple):
    """A key of a YAML mapping, its line, and the node of its value."""

    name: str
    line: int
    value: Node


def read_text(path: Path, noun: str, *, hint: str) -> str:
    """The text of a file that must be there; the hint is for when it is not."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except FileNotFoundError as error:
        raise UsageError(f"there is no {noun} {path}", hint=hint) from error
    except UnicodeDecodeError as error:
        raise UsageError(f"the {noun} {path} is not UTF-8 text") from error
    except OSError as error:
        raise UsageError(f"the {noun} {path} cannot be read: {error.strerror}") from error


def line_of(node: Node) -> int:
    return int(node.start_mark.line) + 1


def is_null(node: Node) -> bool:
    return isinstance(node, ScalarNode) and node.tag == _NULL


def compose(text: str, mistakes: Mistakes, what: str = "the catalog") -> Node | None:
    """The file's only document. None, with a mistake recorded, if it is not YAML or is empty."""
    try:
        root: Node | None = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else 1
        mistakes.add(line, f"not YAML: {error.problem or error.context}")
        return None
    except (yaml.YAMLError, RecursionError) as error:
        mistakes.add(1, f"not YAML: {first_line(error)}")
        return None
    if root is None or is_null(root):
        mistakes.add(1, f"{what} is empty", "start it with: version: 1")
        return None
    return root


def named_nodes(node: Node, line: int, what: str, mistakes: Mistakes) -> Iterator[NamedNode]:
    """The keys of a mapping and their values; a key that comes twice is a mistake.

    A name is the text in the file: `no` and `on` are names here, not booleans.
    """
    if not isinstance(node, MappingNode):
        mistakes.add(line, f"{what} must be a mapping", "write one `name: ...` per line below it")
        return
    first_lines: dict[str, int] = {}
    for key, value in node.value:
        if not isinstance(key, ScalarNode):
            mistakes.add(line_of(key), f"a key of {what} must be a name")
        elif key.value == "<<" and not key.style:
            mistakes.add(line_of(key), "merge keys (<<) are not read", "repeat the keys here")
        elif key.value in first_lines:
            where = first_lines[key.value]
            mistakes.add(
                line_of(key), f"'{key.value}' comes twice in {what}", f"it is also on line {where}"
            )
        else:
            first_lines[key.value] = line_of(key)
            yield NamedNode("" if is_null(key) else key.value, line_of(key), value)


def child_of(node: Node, key: str) -> Node | None:
    """The value of one key, unchecked; for callers that need it to decide how to read the rest."""
    if isinstance(node, MappingNode):
        for name, value in node.value:
            if name.value == key and not is_null(value):
                found: Node = value
                return found
    return None


def peek(node: Node, key: str) -> str | None:
    """The text of one key's value if it is a scalar, unchecked."""
    value = child_of(node, key)
    return str(value.value) if isinstance(value, ScalarNode) else None


def items(node: Node, what: str, mistakes: Mistakes) -> list[Node]:
    """The items of a sequence. A single value is a mistake; its hint shows the list form."""
    if isinstance(node, SequenceNode):
        return list(node.value)
    hint = f"write [{node.value}]" if isinstance(node, ScalarNode) else "write [..., ...]"
    mistakes.add(line_of(node), f"{what} must be a list", hint)
    return []


def text(node: Node, what: str, mistakes: Mistakes) -> str | None:
    """The text of a scalar as the file has it."""
    if isinstance(node, ScalarNode) and not is_null(node) and node.value.strip():
        return str(node.value)
    problem = "is empty" if isinstance(node, ScalarNode) else "must be a single value"
    mistakes.add(line_of(node), f"{what} {problem}")
    return None
