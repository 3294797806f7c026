# SPDX-License-Identifier: Apache-2.0
"""Spark's functions over Arrow arrays, each proven equal to Spark's by a test."""
