# SPDX-License-Identifier: Apache-2.0
"""`python -m scrub` is the command, where the script is not on the path."""

from scrub.cli.main import main

main()
