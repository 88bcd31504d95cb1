"""Writes the JSON schema of what the page of a report is given, from which ``make page`` generates the page's types."""

from __future__ import annotations

import json
from pathlib import Path

from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema
from typing_extensions import override

from zorkgpt.ablation.results import AblationData
from zorkgpt.report.run_page import IndexData, PageData

SCHEMA = Path(__file__).parents[1] / "build" / "page_schema.json"


class _WrittenSchema(GenerateJsonSchema):
    """The schema of values as they are written: a field is never left out."""

    @override
    def field_is_required(self, field: object, total: bool) -> bool:
        return True


if __name__ == "__main__":
    SCHEMA.parent.mkdir(exist_ok=True)
    reports: TypeAdapter[PageData | AblationData | IndexData] = TypeAdapter(PageData | AblationData | IndexData)
    schema = reports.json_schema(mode="serialization", schema_generator=_WrittenSchema)
    SCHEMA.write_text(json.dumps(schema), encoding="utf-8")
