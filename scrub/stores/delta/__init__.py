# SPDX-License-Identifier: Apache-2.0
"""Delta tables: reading versions, writing conditionally, following, building and repairing."""
