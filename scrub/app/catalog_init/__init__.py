# SPDX-License-Identifier: Apache-2.0
"""Use case: write a first catalog from a directory or a database."""
