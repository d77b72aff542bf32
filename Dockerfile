# procexec as an image, for CI jobs that may talk to their host's engine. pip has no index in a
# build, so the wheels come with the context:
#
#   mkdir -p dist/image/wheels && cp Dockerfile dist/image/
#   .venv/bin/pip download --require-hashes --only-binary :all: -d dist/image/wheels -r requirements.lock
#   .venv/bin/pip wheel --no-deps --no-build-isolation -w dist/image/wheels .
#   docker build -t procexec --build-arg BASE=<an image of Debian 12 or newer> dist/image
#   docker run --rm -v /var/run/docker.sock:/var/run/docker.sock -v "$PWD:/work" procexec run answers.jsonl
#
# BASE must have the Python that downloaded the wheels (Debian 12: 3.11, Debian 13: 3.13).
# Whoever may use the host's engine is root on the host: give this to trusted jobs only.
ARG BASE=debian:12
FROM ${BASE}

ENV LANG=C.UTF-8 PATH=/opt/procexec/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin

RUN apt-get update \
 && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
      ca-certificates \
      debian-archive-keyring \
      mmdebstrap \
      python3-venv \
 && rm -rf /var/lib/apt/lists/*

COPY wheels /opt/wheels
RUN python3 -m venv /opt/procexec \
 && /opt/procexec/bin/pip install --no-index --find-links /opt/wheels procexec \
 && rm -rf /opt/wheels

WORKDIR /work
ENTRYPOINT ["procexec"]
