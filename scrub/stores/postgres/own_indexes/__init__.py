# SPDX-License-Identifier: Apache-2.0
"""Reading PostgreSQL's own indexes with nothing but SELECT."""
