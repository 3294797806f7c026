# SPDX-License-Identifier: Apache-2.0
"""Violated constraints, looked for by the server that holds the rows."""
