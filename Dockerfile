FROM python:3.11-slim AS build
WORKDIR /src
COPY requirements/build.lock requirements/run.lock ./
RUN pip install --no-cache-dir --require-hashes --requirement build.lock
RUN pip install --no-cache-dir --prefix=/installed --require-hashes --requirement run.lock
COPY pyproject.toml *.md LICENSE ./
COPY docs ./docs
COPY arena arena
COPY bots bots
COPY machine machine
COPY measuring measuring
COPY protocol protocol
COPY referee referee
RUN pip install --no-cache-dir --prefix=/installed --no-build-isolation --no-deps .

FROM python:3.11-slim
COPY --from=build /installed /usr/local
RUN useradd --create-home --uid 1000 arena && mkdir --mode=700 /data && chown arena /data
USER arena
ENV ARENA_HOST=0.0.0.0 ARENA_DATA=/data
VOLUME /data
EXPOSE 8765 8080
STOPSIGNAL SIGTERM
ENTRYPOINT ["arena"]
CMD ["serve"]
