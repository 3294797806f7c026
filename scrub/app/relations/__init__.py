# SPDX-License-Identifier: Apache-2.0
"""Whether the relations of a catalog are there, and are what it says they are."""
