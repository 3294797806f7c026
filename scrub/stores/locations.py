# SPDX-License-Identifier: Apache-2.0
"""Paths and URIs: which are local, how Arrow opens them, and how they are passed to Spark.

A local file is known by its plain path, where a percent sign is just a percent sign; a `file:` URI
is decoded once, when it comes in. Any other URI stays as it is.
"""

import os
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote, urlsplit

import pyarrow as pa
import pyarrow.fs as pafs

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")


def has_scheme(location: str) -> bool:
    return _SCHEME.match(location) is not None


def is_local(location: str) -> bool:
    return not has_scheme(location)


def normalise(location: str) -> str:
    """An absolute local path, or a URI without a trailing slash."""
    if location.lower().startswith("file:"):
        location = unquote(urlsplit(location).path)
    if is_local(location):
        return os.path.abspath(os.path.expanduser(location))
    return location.rstrip("/")


def join(base: str, relative: str) -> str:
    return f"{base.rstrip('/')}/{relative}"


def for_spark(location: str) -> str:
    """The path as Hadoop takes it: literal, and never in the cluster's default file system."""
    return f"file://{location}" if is_local(location) else location


def open_filesystem(location: str, options: Mapping[str, str]) -> tuple[pafs.FileSystem, str]:
    """Arrow's file system for a location, and the path inside it.

    Credentials come from the environment of the process, as the cloud's own tools find them, unless
    the store's options hold the names that Delta also takes: `AWS_ACCESS_KEY_ID`,
    `AWS_SECRET_ACCESS_KEY`, `AWS_SESSION_TOKEN`, `AWS_REGION`, `AWS_ENDPOINT_URL` for s3, and
    `AZURE_STORAGE_ACCOUNT_NAME`, `AZURE_STORAGE_ACCOUNT_KEY` for abfss, in any case of letters.
    """
    if is_local(location):
        return pafs.LocalFileSystem(), location
    # Not urlsplit: in an object's name, ? and # are characters like others.
    scheme, _, rest = location.partition("://")
    authority, _, key = rest.partition("/")
    known = {name.upper(): value for name, value in options.items()}
    if scheme in ("s3", "s3a", "s3n"):
        return pafs.S3FileSystem(**_s3_arguments(known)), f"{authority}/{key}"
    if scheme in ("abfs", "abfss") and "AZURE_STORAGE_ACCOUNT_KEY" in known:
        container, _, host = authority.partition("@")
        account = known.get("AZURE_STORAGE_ACCOUNT_NAME", host.partition(".")[0])
        filesystem = pafs.AzureFileSystem(account, account_key=known["AZURE_STORAGE_ACCOUNT_KEY"])
        return filesystem, f"{container}/{key}"
    filesystem, base = pafs.FileSystem.from_uri(f"{scheme}://{authority}/")
    return filesystem, f"{base.rstrip('/')}/{key}"


def open_file(location: str, options: Mapping[str, str]) -> pa.NativeFile:
    """A file for random access: mapped into memory when it is local."""
    if is_local(location):
        return pa.memory_map(location)
    filesystem, path = open_filesystem(location, options)
    return filesystem.open_input_file(path)


def _s3_arguments(options: Mapping[str, str]) -> dict[str, Any]:
    names = {
        "AWS_ACCESS_KEY_ID": "access_key",
        "AWS_SECRET_ACCESS_KEY": "secret_key",
        "AWS_SESSION_TOKEN": "session_token",
        "AWS_REGION": "region",
    }
    arguments: dict[str, Any] = {
        argument: options[name] for name, argument in names.items() if name in options
    }
    if endpoint := options.get("AWS_ENDPOINT_URL"):
        scheme, _, host = endpoint.rpartition("://")
        arguments["endpoint_override"] = host
        arguments["scheme"] = scheme or "https"
    return arguments
