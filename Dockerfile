# autocode in one image: the server, git, bubblewrap. Build: docker build -t autocode .
#
# The sandbox makes user namespaces and mounts inside the container, which Docker's defaults forbid, so it is run with
#   docker run --security-opt seccomp=unconfined --security-opt apparmor=unconfined --security-opt systempaths=unconfined …
# No privilege and no capability is added (--cap-drop ALL and no-new-privileges work too); where the container cannot
# write control groups, the sandbox's init watches memory and processes instead. `docker run … autocode sandbox --dir /var/lib/autocode/probe -- true` says whether it works there.
# Toolchains of repositories are not in it: add a layer with what yours need.

FROM golang:1.26-bookworm AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
# Static, because the same binary is the first process inside the sandbox, whatever root that has.
# cgo is for tree-sitter's grammars only; names are resolved by Go.
RUN CGO_ENABLED=1 go build -trimpath -tags netgo,osusergo \
    -ldflags '-s -w -linkmode external -extldflags -static' -o /out/autocode ./cmd/autocode

FROM debian:bookworm-slim
RUN apt-get update \
 && apt-get install -y --no-install-recommends bubblewrap ca-certificates git \
 && rm -rf /var/lib/apt/lists/* \
 && useradd --uid 10001 --create-home --shell /usr/sbin/nologin autocode \
 && install -d -o autocode -g autocode -m 700 /var/lib/autocode /var/lib/autocode/data /var/lib/autocode/probe
COPY --from=build /out/autocode /usr/local/bin/autocode
COPY LICENSE /usr/share/doc/autocode/LICENSE
USER 10001:10001
WORKDIR /var/lib/autocode
ENV AUTOCODE_LISTEN=0.0.0.0:8080 AUTOCODE_DATA_DIR=/var/lib/autocode/data
VOLUME /var/lib/autocode/data
EXPOSE 8080
ENTRYPOINT ["autocode"]
CMD ["serve"]
