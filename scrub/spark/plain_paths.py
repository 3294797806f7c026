# SPDX-License-Identifier: Apache-2.0
"""Paths and URIs as Spark writes them."""

from urllib.parse import unquote, urlsplit


def plain_path(uri: str) -> str:
    """`file:///a%20b` and `/a b` name the same file; other schemes stay as they are."""
    parts = urlsplit(uri)
    return unquote(parts.path) if parts.scheme == "file" else uri
