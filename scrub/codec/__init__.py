# SPDX-License-Identifier: Apache-2.0
"""Columns to bytes and digests, over whole Arrow arrays; no idea of Spark or of stores."""
