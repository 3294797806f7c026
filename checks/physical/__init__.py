# SPDX-License-Identifier: Apache-2.0
"""The physical check: values that a column cannot hold, counted inside the scan and then named."""
