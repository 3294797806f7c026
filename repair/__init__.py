# SPDX-License-Identifier: Apache-2.0
"""Repair writes: the only package that may open a store for writing."""
