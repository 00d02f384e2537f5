# The program in a small image: docker build -t lcsm . && docker run --rm -v "$PWD:/work" lcsm methods
FROM debian:bookworm-slim AS build
COPY . /src
WORKDIR /src
RUN apt-get update && scripts/setup build && make && cmake --install build --prefix /usr --strip

FROM debian:bookworm-slim
RUN apt-get update \
    && apt-get install -y --no-install-recommends libjansson4 libxxhash0 libpcre2-8-0 libmicrohttpd12 libunistring2 zlib1g \
    && rm -rf /var/lib/apt/lists/*
COPY --from=build /usr/bin/lcsm /usr/bin/
COPY --from=build /usr/share/lcsm /usr/share/lcsm
WORKDIR /work
ENTRYPOINT ["lcsm"]
