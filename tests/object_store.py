# SPDX-License-Identifier: Apache-2.0
"""A directory as an S3 bucket, for what reads objects and needs no more than lists and ranges."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

BUCKET = "lake"


@contextmanager
def object_store(directory: Path) -> Iterator[dict[str, str]]:
    """The options that reach a bucket with the directory's files in it."""

    class Handler(_Handler):
        root = directory

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield {
            "AWS_ACCESS_KEY_ID": "someone",
            "AWS_SECRET_ACCESS_KEY": "anything",
            "AWS_REGION": "us-east-1",
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{server.server_port}",
        }
    finally:
        server.shutdown()
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    root: Path
    protocol_version = "HTTP/1.1"

    def do_HEAD(self) -> None:
        self._answer(with_body=False)

    def do_GET(self) -> None:
        self._answer(with_body=True)

    def _answer(self, with_body: bool) -> None:
        parts = urlsplit(self.path)
        bucket, _, key = unquote(parts.path).lstrip("/").partition("/")
        if bucket != BUCKET:
            self._send(404, b"", with_body)
        elif not key:
            self._send(200, self._listed(parse_qs(parts.query)), with_body)
        elif (self.root / key).is_file() and not key.endswith("/"):
            self._send_object((self.root / key).read_bytes(), with_body)
        else:
            self._send(404, b"", with_body)

    def _listed(self, query: dict[str, list[str]]) -> bytes:
        prefix = query.get("prefix", [""])[0]
        files = sorted(p for p in self.root.rglob("*") if p.is_file())
        keys = {str(path.relative_to(self.root)): path.stat().st_size for path in files}
        delimiter = query.get("delimiter", [""])[0]
        objects, folders = [], set()
        for key, size in keys.items():
            if not key.startswith(prefix):
                continue
            rest = key[len(prefix) :]
            if delimiter and delimiter in rest:
                folders.add(prefix + rest.partition(delimiter)[0] + delimiter)
            else:
                objects.append((key, size))
        listed = "".join(
            f"<Contents><Key>{escape(key)}</Key><Size>{size}</Size>"
            "<LastModified>2026-01-01T00:00:00.000Z</LastModified></Contents>"
            for key, size in objects
        ) + "".join(
            f"<CommonPrefixes><Prefix>{escape(folder)}</Prefix></CommonPrefixes>"
            for folder in sorted(folders)
        )
        found = len(objects) + len(folders)
        return (
            '<?xml version="1.0" encoding="UTF-8"?><ListBucketResult '
            'xmlns="http://s3.amazonaws.com/doc/2006-03-01/">'
            f"<Name>{BUCKET}</Name><Prefix>{escape(prefix)}</Prefix><KeyCount>{found}</KeyCount>"
            f"<MaxKeys>1000</MaxKeys><IsTruncated>false</IsTruncated>{listed}</ListBucketResult>"
        ).encode()

    def _send_object(self, content: bytes, with_body: bool) -> None:
        asked = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
        if asked is None:
            self._send(200, content, with_body)
            return
        first, last = int(asked[1]), min(int(asked[2] or len(content)), len(content) - 1)
        self._send(
            206, content[first : last + 1], with_body, f"bytes {first}-{last}/{len(content)}"
        )

    def _send(self, status: int, body: bytes, with_body: bool, content_range: str = "") -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Last-Modified", "Thu, 01 Jan 2026 00:00:00 GMT")
        self.send_header("ETag", '"x"')
        if content_range:
            self.send_header("Content-Range", content_range)
        self.end_headers()
        if with_body:
            self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Tests need no log."""
