# SPDX-License-Identifier: Apache-2.0
"""What a checkpoint does with its results: Data Docs that load nothing from elsewhere."""

from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit
from urllib.request import url2pathname

from great_expectations.checkpoint.actions import ActionContext, UpdateDataDocsAction
from great_expectations.checkpoint.checkpoint import CheckpointResult

from scrub.errors import ScrubError
from scrub.gx.data_docs import rewrite_pages


class UpdateSelfContainedDataDocs(UpdateDataDocsAction):
    """Update Data Docs, then rewrite the pages so that they need no network and no script."""

    type: Literal["scrub_update_self_contained_data_docs"] = "scrub_update_self_contained_data_docs"  # type: ignore[assignment]

    def run(
        self, checkpoint_result: CheckpointResult, action_context: ActionContext | None = None
    ) -> dict[Any, Any]:
        """Build the pages of the results, and rewrite every page of the sites."""
        built: dict[Any, Any] = super().run(checkpoint_result, action_context)
        for site in self._get_docs_sites_urls(site_names=self.site_names or None):
            rewrite_pages(_directory_of(site))
        return built


def _directory_of(site: dict[str, str]) -> Path:
    address = urlsplit(site["site_url"] or "")
    if address.scheme != "file":
        raise ScrubError(
            f"the pages of the site {site['site_name']} are not on this machine, and cannot be "
            "rewritten",
            hint="use UpdateDataDocsAction for it, and name the other sites in `site_names`",
        )
    return Path(url2pathname(address.path)).parent
