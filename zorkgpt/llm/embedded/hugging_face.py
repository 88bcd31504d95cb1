"""Downloads model files from Hugging Face, with the extra ``hf``.

The library sends the requests and follows the user's settings, such as ``HF_ENDPOINT``, ``HF_TOKEN`` and
``HF_HUB_OFFLINE``. Its own download begins again in every process, and checks no hash; so the file is kept here.
"""

from __future__ import annotations

import hashlib
import logging
import os
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import httpx2
from huggingface_hub import HfApi, constants, errors, get_token, hf_hub_url
from huggingface_hub.file_download import http_get

from session.errors import LanguageModelUnavailable
from session.model_files import chosen_file, hub_folder, model_folder, repository_and_file
from session.text import one_line
from zorkgpt.llm.embedded.model_store import Progress, claimed
from zorkgpt.llm.environment import certificates, require_usable_proxies

_BLOCK = 1 << 20


def pull(model: str, report: Progress) -> Path:
    """Download the file of ``hf:OWNER/REPO[:FILE.gguf]`` and return its path; one that is there is only checked.

    A file gets its name when it is whole and has the SHA-256 that the hub lists. A download that breaks off continues
    at the next call.

    Raises ``LanguageModelUnavailable`` if it cannot be downloaded, ``ConfigurationError`` for a wrong name, a file that
    cannot be stored, or an unusable proxy.
    """
    repository, _ = repository_and_file(model)
    require_usable_proxies()
    certificates()
    logging.getLogger("huggingface_hub").setLevel(logging.ERROR)  # it would report each attempt in several lines
    with claimed(model_folder(), report):
        try:
            info = HfApi().model_info(repository, files_metadata=True, timeout=constants.HF_HUB_ETAG_TIMEOUT)
            files = {file.rfilename: file.lfs for file in info.siblings or ()}
            name = chosen_file(model, files)
            listed, path = files[name], hub_folder(repository) / name
            if listed is None:
                raise LanguageModelUnavailable(f"{model}: the hub lists no checksum of {name}")
            if path.is_file() and _sha256(path, report) == listed.sha256:
                return path
            path.parent.mkdir(parents=True, exist_ok=True)
            part = path.with_name(f"{name.rpartition('/')[2]}.{listed.sha256[:12]}.part")
            with part.open("ab") as file:
                if (begun := file.tell()) < listed.size:
                    url = hf_hub_url(repository, name, revision=info.sha)
                    headers = {"authorization": f"Bearer {token}"} if (token := get_token()) else {}
                    report("fetching", begun, listed.size)
                    bar = nullcontext(SimpleNamespace(update=lambda _: report("fetching", file.tell(), listed.size)))
                    http_get(url, file, resume_size=begun, headers=headers, tqdm_class=cast("Any", lambda **_: bar))
                file.flush()
                os.fsync(file.fileno())
        except (httpx2.HTTPError, errors.OfflineModeIsEnabled, ValueError, LookupError, TypeError) as error:
            raise LanguageModelUnavailable(f"{model} cannot be fetched: {_reason(error, repository)}") from error
        if _sha256(part, report) != listed.sha256:
            part.unlink()
            raise LanguageModelUnavailable(f"{model}: {name} arrived damaged and was deleted; pull it again")
        part.replace(path)
        for outdated in path.parent.glob(f"{path.name}.*.part"):
            outdated.unlink()
    return path


def _reason(error: Exception, repository: str) -> str:
    endpoint, later = constants.ENDPOINT, "what arrived is kept, pull it again later"
    match error:
        case errors.OfflineModeIsEnabled():
            reason = "HF_HUB_OFFLINE is set, so nothing is downloaded"
        case errors.GatedRepoError():
            reason = f"it is gated: accept its conditions at {endpoint}/{repository}, then set HF_TOKEN"
        case errors.RepositoryNotFoundError():
            reason = f"{endpoint} has no such repository, or it is private: check the name, or set HF_TOKEN"
        case errors.HFValidationError():
            reason = str(error)
        case errors.HfHubHTTPError():
            reason = f"{endpoint} answers {error.response.status_code}; {later}"
        case httpx2.HTTPError():
            reason = f"no connection to {endpoint} ({error}); {later}"
        case _:
            reason = f"the response of {endpoint} is not that of a Hugging Face hub"
    return one_line(reason)


def _sha256(path: Path, report: Progress) -> str:
    digest, size = hashlib.sha256(), path.stat().st_size
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            digest.update(block)
            report("checking", file.tell(), size)
    report("ready", size, size)
    return digest.hexdigest()
