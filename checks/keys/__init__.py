# SPDX-License-Identifier: Apache-2.0
"""Keys of whole tables: those that rows share, and those that refer to no row."""
