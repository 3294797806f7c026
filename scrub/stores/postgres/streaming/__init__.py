# SPDX-License-Identifier: Apache-2.0
"""Indexes in PostgreSQL that a stream keeps: their tables, and the state of their streams."""
