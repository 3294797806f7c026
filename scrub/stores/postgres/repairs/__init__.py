# SPDX-License-Identifier: Apache-2.0
"""Repairing index tables and lost rows in PostgreSQL, with a journal."""
