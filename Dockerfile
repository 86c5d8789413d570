# Debian's own Python gets Debian's security updates; the digest is that of the tag beside it.
ARG BASE=docker.io/library/debian:bookworm-20260824-slim@sha256:88200866dfff7ea7f5cbcb6ec7c8a701889efe6fe859fe64d6990e4b07ea4171

FROM ${BASE} AS build
RUN apt-get update \
 && apt-get install --yes --no-install-recommends python3 python3-venv \
 && rm -rf /var/lib/apt/lists/*
WORKDIR /src
COPY requirements/build.lock requirements/image.lock ./
RUN python3 -m venv /build \
 && /build/bin/pip install --no-cache-dir --require-hashes --requirement build.lock \
 && /build/bin/pip wheel --no-cache-dir --no-build-isolation --no-deps --wheel-dir /wheels --require-hashes --requirement image.lock
COPY pyproject.toml *.md LICENSE ./
COPY docs ./docs
COPY arena arena
COPY bots bots
COPY games games
COPY machine machine
COPY measuring measuring
COPY protocol protocol
COPY referee referee
RUN /build/bin/pip wheel --no-cache-dir --no-build-isolation --no-deps --wheel-dir /wheels . \
 && python3 -m venv --without-pip /opt/arena \
 && /build/bin/pip --python /opt/arena/bin/python install --no-cache-dir --no-index --no-deps /wheels/*.whl

FROM ${BASE}
ARG REVISION=unknown
LABEL org.opencontainers.image.title="Bot Arena" \
      org.opencontainers.image.description="A networked referee for games between programs" \
      org.opencontainers.image.version="0.1.0" \
      org.opencontainers.image.revision="${REVISION}" \
      org.opencontainers.image.licenses="MIT"
RUN apt-get update \
 && apt-get install --yes --no-install-recommends ca-certificates python3 tini \
 && rm -rf /var/lib/apt/lists/* \
 && useradd --uid 10001 --user-group --no-create-home --home-dir /data --shell /usr/sbin/nologin arena \
 && install --directory --owner arena --group arena --mode 700 /data
COPY --from=build /opt/arena /opt/arena
ENV PATH=/opt/arena/bin:$PATH ARENA_HOST=0.0.0.0 ARENA_PORT=8765 ARENA_DATA=/data
USER 10001:10001
VOLUME /data
EXPOSE 8765 8080 9464
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s \
  CMD ["python", "-c", "import http.client, os; arena = http.client.HTTPConnection('127.0.0.1', int(os.environ['ARENA_PORT']), 4); arena.request('GET', '/healthz'); raise SystemExit(arena.getresponse().status != 200)"]
ENTRYPOINT ["tini", "--", "arena"]
CMD ["serve"]
