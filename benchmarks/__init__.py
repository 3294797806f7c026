# SPDX-License-Identifier: Apache-2.0
"""How fast a check is, beside other ways to do the same, on generated data."""
