# SPDX-License-Identifier: Apache-2.0
"""Find, explain and repair disagreements between tables and their secondary indexes."""

__version__ = "0.1.0"
