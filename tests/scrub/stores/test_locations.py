# SPDX-License-Identifier: Apache-2.0
"""Paths and URIs are decoded once, or not at all."""

from pathlib import Path

import pytest

from scrub.stores.locations import for_spark, normalise, open_filesystem


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("/a b/c%20d", "/a b/c%20d"),
        ("file:///a%20b/c%2520d", "/a b/c%20d"),
        ("file:/a", "/a"),
        ("s3://bucket/a%20b/", "s3://bucket/a%20b"),
        ("/a/", "/a"),
    ],
)
def test_what_a_location_means(given: str, meant: str) -> None:
    assert normalise(given) == meant


def test_a_relative_path_starts_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert normalise("./lake") == str(tmp_path / "lake")


def test_local_files_are_never_looked_up_in_the_clusters_file_system() -> None:
    assert for_spark("/a b%") == "file:///a b%"
    assert for_spark("hdfs://n/a") == "hdfs://n/a"


def test_credentials_and_keys_of_object_stores() -> None:
    options = {
        "aws_access_key_id": "id",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "AWS_REGION": "eu-west-1",
        "AWS_ENDPOINT_URL": "http://localhost:9000",
    }
    filesystem, path = open_filesystem("s3a://bucket/a?b#c%20d", options)
    assert (filesystem.region, path) == ("eu-west-1", "bucket/a?b#c%20d")
    azure = {"AZURE_STORAGE_ACCOUNT_KEY": "c2VjcmV0"}
    filesystem, path = open_filesystem("abfss://box@account.dfs.core.windows.net/a b", azure)
    assert (filesystem.type_name, path) == ("abfs", "box/a b")
    filesystem, path = open_filesystem("gs://bucket/a%b", {})
    assert (filesystem.type_name, path) == ("gcs", "bucket/a%b")
