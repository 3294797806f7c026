# SPDX-License-Identifier: Apache-2.0
"""Checks of indexes that the database itself maintains."""
