# SPDX-License-Identifier: Apache-2.0
"""The words of streaming backfill: history and live changes of a table, merged."""
