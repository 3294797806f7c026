# SPDX-License-Identifier: Apache-2.0
"""Entries of tables whose rows are columns: how they are read, added up, joined and named."""
