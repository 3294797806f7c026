# SPDX-License-Identifier: Apache-2.0
"""Streams: indexes that are built from history and live changes at once, and kept current."""
