"""The budgets that a run was last resumed with, which may be others than it was begun with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import ValidationError

from session.configuration.option_groups import BudgetOptions
from session.errors import StoreError, first_problem
from session.files.atomic_write import write_atomically
from session.files.shared_files import read_shared

if TYPE_CHECKING:
    from pathlib import Path

BUDGETS = "budgets.json"


def keep_budgets(folder: Path, budgets: BudgetOptions) -> None:
    """The run of that folder is resumed with these budgets until it is given others. Raises ``StoreError``."""
    write_atomically(folder / BUDGETS, budgets.model_dump_json(indent=1).encode())


def kept_budgets(folder: Path) -> BudgetOptions | None:
    """The budgets that the run was last resumed with, ``None`` where it never was. Raises ``StoreError``."""
    content = read_shared(folder / BUDGETS)
    try:
        return BudgetOptions.model_validate_json(content) if content is not None else None
    except ValidationError as error:
        raise StoreError(f"{folder / BUDGETS} holds no budgets: {first_problem(error, 'it')}") from error
