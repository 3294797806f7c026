# SPDX-License-Identifier: Apache-2.0
"""PostgreSQL: tables and index tables of one database, read at one shared snapshot."""
