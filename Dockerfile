# zorkgpt in a container: docs/installing.md says how it is built and run.
FROM python:3.12-slim AS build
RUN apt-get update && apt-get install --yes --no-install-recommends build-essential && rm -rf /var/lib/apt/lists/*
RUN python -m venv /opt/zorkgpt
ENV PATH=/opt/zorkgpt/bin:$PATH
WORKDIR /source
COPY requirements.lock ./
RUN pip install --no-cache-dir --no-deps --require-hashes -r requirements.lock \
    && find /opt/zorkgpt -path '*xllamacpp*.so' -exec strip {} +
COPY pyproject.toml README.md LICENSE ./
COPY session session
COPY game_interface game_interface
COPY managers managers
COPY orchestration orchestration
COPY zorkgpt zorkgpt
RUN pip install --no-cache-dir --no-deps --no-build-isolation .

FROM python:3.12-slim
# libgomp1: the embedded model's engine counts on it
RUN apt-get update && apt-get install --yes --no-install-recommends libgomp1 && rm -rf /var/lib/apt/lists/* \
    && useradd --create-home --uid 1000 player && mkdir /play && chown player /play
COPY --from=build /opt/zorkgpt /opt/zorkgpt
ENV PATH=/opt/zorkgpt/bin:$PATH ZORKGPT_MODEL_DIR=/play/models
USER player
WORKDIR /play
VOLUME /play
ENTRYPOINT ["zorkgpt"]
CMD ["--help"]
