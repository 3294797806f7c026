# SPDX-License-Identifier: Apache-2.0
"""Commands that run in this process, by what they exit with."""

from scrub.cli import main


def exit_code(*arguments: object) -> int:
    """Run scrub with arguments; also what click exits with by itself."""
    try:
        return main.run([str(argument) for argument in arguments])
    except SystemExit as stop:
        return int(stop.code or 0)
