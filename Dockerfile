# The trainer for Vertex AI, Kubernetes and any other place that runs containers.
#
#   docker build -t trainer:cpu .
#   docker build -t trainer:gpu --build-arg VARIANT=gpu .
#
# VARIANT  cpu, or gpu: with NVIDIA's CUDA libraries as packages; the machine provides the driver
# BASE     an image with the minor version of Python for which docker/*.lock were made. The digest
#          decides; `make pin-base-image` replaces it by that of the tag's newest image
ARG BASE=python:3.12-slim@sha256:229a2c5bfa27522db7815ea81f9bed70af17ccb9de9fc7ad142b1877b5830d36

FROM ${BASE} AS build
ARG VARIANT=cpu
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore
RUN python -m venv /opt/venv
ENV PATH=/opt/venv/bin:$PATH
# What changes rarely comes first: a change of the trainer alone keeps this layer.
COPY docker/${VARIANT}.lock /tmp/requirements.lock
RUN pip install --no-deps --require-hashes -r /tmp/requirements.lock

FROM build AS trainer
WORKDIR /src
COPY setup.py pyproject.toml MANIFEST.in README.md LICENSE ./
COPY hparams ./hparams
COPY estimator_bridge ./estimator_bridge
COPY trainer ./trainer
RUN pip wheel --no-deps --no-build-isolation --wheel-dir /wheels .

FROM ${BASE}
RUN useradd --create-home --uid 1000 trainer
COPY --from=build /opt/venv /opt/venv
ENV PATH=/opt/venv/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 MPLCONFIGDIR=/tmp
RUN --mount=type=bind,from=trainer,source=/wheels,target=/wheels \
    pip install --no-cache-dir --no-deps --no-index /wheels/*.whl
USER 1000
WORKDIR /home/trainer
# Linux discards a SIGTERM for process 1 until that has a handler. Blocked, it waits for the handler.
ENTRYPOINT ["env", "--block-signal=TERM", "python", "-m", "trainer.task"]
CMD ["--help"]
