# SPDX-License-Identifier: Apache-2.0
"""CockroachDB's encoding of keys and values, over whole batches of pairs."""
