# SPDX-License-Identifier: Apache-2.0
"""Checks of tables in key-value layout, whose relations hold encoded pairs."""
