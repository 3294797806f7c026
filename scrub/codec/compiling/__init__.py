# SPDX-License-Identifier: Apache-2.0
"""Compiles loops in seconds instead of minutes, and keeps what is compiled."""
