# SPDX-License-Identifier: Apache-2.0
"""Files that carry no log: Parquet, which tasks open themselves, and whatever Spark reads."""
