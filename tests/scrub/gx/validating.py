# SPDX-License-Identifier: Apache-2.0
"""Validates a DataFrame with Great Expectations, as a project would."""

from typing import Any

import scrub.gx  # noqa: F401 - it switches analytics off before Great Expectations is imported


def a_context() -> Any:
    import great_expectations as gx

    context = gx.get_context(mode="ephemeral")
    context.enable_analytics(False)
    context.variables.progress_bars = {"globally": False}
    return context


def batch_of(context: Any, frame: Any, name: str = "frames") -> Any:
    source = context.data_sources.add_or_update_spark(name, persist=False)
    definition = source.add_dataframe_asset("rows").add_batch_definition_whole_dataframe("all")
    return definition.get_batch(batch_parameters={"dataframe": frame})


def validate(frame: Any, expectation: Any, result_format: Any = "BASIC") -> Any:
    """The validation result of one expectation."""
    return batch_of(a_context(), frame).validate(expectation, result_format=result_format)
