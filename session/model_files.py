"""The model files of the embedded engine: their folder, their names, and which of them are large."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path

from platformdirs import user_cache_path

from session.errors import ConfigurationError
from session.processes import program
from session.text import counted

MODEL_DIR_VARIABLE = "ZORKGPT_MODEL_DIR"
HUB = "hf:"
LARGE = 1_500_000_000
"""Bytes of a file from which a model gets full prompts: about 2.5 billion parameters of 4 bits each. Smaller models
rarely follow instructions of several pages."""
_NAME = re.compile(r"hf:(\w[\w.-]*/\w[\w.-]*)(?::([\w./+-]+))?", re.ASCII)
_FILE = re.compile(r"(?!.*(?:mmproj|imatrix|-\d{5}-of-\d{5}))(?:\w[\w.+-]*/)*\w[\w.+-]*\.gguf", re.ASCII)
"""A file with a whole language model: neither a part of one nor an additional file."""
_USUAL = "q4_k_m"
_SHOWN = 20


def model_folder() -> Path:
    """Return the folder of ``ZORKGPT_MODEL_DIR``, else one in the user's cache; it may not exist yet."""
    named = os.environ.get(MODEL_DIR_VARIABLE)
    return Path(named).expanduser().absolute() if named else user_cache_path("zorkgpt", appauthor=False) / "models"


def hub_folder(repository: str) -> Path:
    """Return the folder of the files that were pulled from a repository."""
    return model_folder() / "hf" / repository


def is_model_file(model: str) -> bool:
    """Return whether the name of a model is that of a file, which the embedded engine plays with."""
    return model.endswith(".gguf") or model.startswith(HUB)


def repository_and_file(model: str) -> tuple[str, str]:
    """Return the parts of ``hf:OWNER/REPO[:FILE.gguf]``; without FILE, it is "". Raises ``ConfigurationError``."""
    found = _NAME.fullmatch(model)
    if found is None:
        raise ConfigurationError(f"{model}: expected a model such as hf:OWNER/REPO or hf:OWNER/REPO:FILE.gguf")
    return found[1], found[2] or ""


def chosen_file(model: str, files: Iterable[str]) -> str:
    """Return the one of a repository's files that ``hf:OWNER/REPO[:FILE.gguf]`` names.

    Without FILE it is the only model file, else the only one with Q4_K_M in its name. Raises ``ConfigurationError``,
    with all model files.
    """
    repository, wanted = repository_and_file(model)
    models = sorted(file for file in files if _FILE.fullmatch(file))
    usual = [file for file in models if _USUAL in file.lower()]
    for choice in [[file for file in models if file == wanted]] if wanted else [models, usual]:
        if len(choice) == 1:
            return choice[0]
    if not models:
        raise ConfigurationError(f"{HUB}{repository} has no model in one GGUF file")
    more = len(models) - _SHOWN
    listed = ", ".join([*models[:_SHOWN], *([f"and {counted(more, 'other')}"] if more > 0 else [])])
    problem = f"has no model file {wanted}" if wanted else "has several model files"
    raise ConfigurationError(f"{HUB}{repository} {problem}; name one, as in {HUB}{repository}:{models[0]}: {listed}")


def model_path(model: str) -> Path:
    """Return the path of a model file, which is given by its path or as ``hf:OWNER/REPO[:FILE.gguf]``.

    Raises ``ConfigurationError`` for a file of a repository that is not pulled yet.
    """
    if not model.startswith(HUB):
        return Path(model).expanduser()
    repository, wanted = repository_and_file(model)
    folder = hub_folder(repository)
    files = [path.relative_to(folder).as_posix() for path in folder.rglob("*.gguf")]
    if not files or (wanted and wanted not in files):
        raise ConfigurationError(f"{model} is not pulled yet: `{program()} model pull {model}` fetches it")
    return folder / chosen_file(model, files)


def model_name(path: Path) -> str:
    """Return ``hf:OWNER/REPO:FILE.gguf`` for a pulled file, "" for any other."""
    if not path.is_relative_to(hub_folder("")):
        return ""
    owner, repository, *file = path.relative_to(hub_folder("")).parts
    return f"{HUB}{owner}/{repository}:{'/'.join(file)}"


def is_large(model: str) -> bool:
    """Return whether a model's file is large enough for full prompts; a missing one is not."""
    try:
        return model_path(model).stat().st_size >= LARGE
    except (ConfigurationError, OSError):
        return False
