# SPDX-License-Identifier: Apache-2.0
"""The changes of a table from a logical replication slot of PostgreSQL."""
