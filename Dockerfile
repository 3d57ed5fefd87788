# The image of mcpvigil: the static binary, the roots of trust and nothing else, run by a
# user without rights. There is no published one:
#
#   docker build --build-arg VERSION="$(git describe --tags --always)" -t REGISTRY/mcpvigil:TAG .
#
# The root may be read-only; /data (and /tmp, for large queries) are to be writable.
# Servers over stdio need their programs: docs/deploy.md has an image for that.
FROM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG VERSION=dev
RUN CGO_ENABLED=0 go build -trimpath -buildvcs=false -ldflags "-s -w -X github.com/mcpvigil/mcpvigil/internal/cli.version=$VERSION" -o /out/bin/mcpvigil ./cmd/mcpvigil
RUN mkdir -p /out/data /out/tmp && chmod 0700 /out/data

FROM scratch
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY --from=build --chown=65532:65532 /out/ /
USER 65532:65532
VOLUME /data
EXPOSE 8087
ENTRYPOINT ["/bin/mcpvigil"]
CMD ["serve", "--listen", ":8087", "--data", "/data"]
