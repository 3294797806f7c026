# SPDX-License-Identifier: Apache-2.0
"""History and live changes of a table, merged into its index: which change goes where, and when.

A stream proceeds in epochs. An epoch takes a snapshot, reads the next rows of some vnodes at it,
reads changes, and judges each change at its end, the barrier. Everything here but `running` is a
pure function, and nothing here touches a store except through the protocols of
`scrub.stores.streaming`.
"""
