# SPDX-License-Identifier: Apache-2.0
"""Use case: check tables against their indexes."""
