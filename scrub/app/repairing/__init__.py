# SPDX-License-Identifier: Apache-2.0
"""Use cases: repair, undo, journal and patch."""
