# SPDX-License-Identifier: Apache-2.0
"""Text without what looks like a secret in it, for all that is said to people.

Nobody can know every secret: one may stand where a table, a file or a setting was meant. So it is
told by its form, whatever it was given for. Too much is taken rather than too little.
"""

import re

_BLOT = "***"
_COLON, _AT, _EQUALS = r"(?::|%3A)", r"(?:@|%40)", r"(?:=|%3D)"
# user:password@host after two slashes, where a password may have spaces; elsewhere it has none,
# and a file:line: before a message is no user.
_IN_URL = re.compile(rf"(//[^\s/:@%]*){_COLON}[^\n]*{_AT}", re.IGNORECASE)
_BEFORE_HOST = re.compile(rf"([^\s/:@%'\"]*){_COLON}(?=[^\s/])\S*{_AT}", re.IGNORECASE)
_SECRET_NAME = (
    r"[\w.-]*(?:password|passwd|passphrase|pwd|secret|token|credential|signature"
    r"|(?:access|account|private|shared|api)[._-]?key)[\w.-]*"
)
# A hint may show how a secret is set: NAME=..., and ${NAME} is how a catalog refers to one.
_NAMED = re.compile(
    rf"(?<![\w.-])({_SECRET_NAME}\s*{_EQUALS}\s*)(?!\.\.\.|\$\{{)"
    r"(?:'(?:[^'\\]|\\.)*'?|\"[^\"\n]*\"?|(?:\\.|\S)+)",
    re.IGNORECASE,
)
_CONNECTION = re.compile(
    r"^\s*(?:jdbc:|postgres(?:ql)?(?::|//))"
    r"|(?<!\w)(?:host|hostaddr|port|dbname|user|service|passfile|sslmode)\s*=",
    re.IGNORECASE,
)


def redacted(text: str) -> str:
    """The text as it may be shown and written down."""
    text = _IN_URL.sub(rf"\1:{_BLOT}@", text)
    text = _BEFORE_HOST.sub(rf"\1:{_BLOT}@", text)
    return _NAMED.sub(rf"\1{_BLOT}", text)


def looks_like_connection(text: str) -> bool:
    """Whether somebody may have meant a database by it, and a password may be in it."""
    return bool(_CONNECTION.search(text)) or redacted(text) != text
