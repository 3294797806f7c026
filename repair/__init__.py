# SPDX-License-Identifier: Apache-2.0
"""Repair decides what is written, and in which order; stores judge and write it.

`planning`, `pair_planning` and `recovering` turn defects into actions and refusals. `executing`
applies the actions in batches, and `patch` writes them as files instead. `building` and
`working_off` take a build in PostgreSQL from state to state. Nothing here opens a store:
`scrub.app` does, and hands it over. What follows a Delta table is in `scrub.stores.delta`.
"""
