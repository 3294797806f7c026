# SPDX-License-Identifier: Apache-2.0
"""Use cases: the self-test and the demo, which plant known faults and look for them."""
