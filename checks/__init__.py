# SPDX-License-Identifier: Apache-2.0
"""Checks read: they compare tables with their indexes and write nothing."""
