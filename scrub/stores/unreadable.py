# SPDX-License-Identifier: Apache-2.0
"""What a reader says of a split that it cannot read to the end."""


class UnreadableSplit(Exception):
    """A split could not be read; the reason is one line for people."""

    def __init__(self, split_name: str, reason: str) -> None:
        super().__init__(split_name, reason)
        self.split_name = split_name
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.split_name}: {self.reason}"
