# SPDX-License-Identifier: Apache-2.0
"""The command line: click, and the one place that prints."""
