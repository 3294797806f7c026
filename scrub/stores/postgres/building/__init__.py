# SPDX-License-Identifier: Apache-2.0
"""Building index tables in PostgreSQL while their table is written to."""
