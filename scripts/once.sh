#!/usr/bin/env bash
# once.sh STAMP INPUT... -- COMMAND...
#
# Runs COMMAND unless it has already succeeded for the same contents of the
# INPUT files, the same Go release and the same machine type. STAMP
# is a file beside what COMMAND makes, so that removing the one removes the
# other.
set -euo pipefail

stamp=$1
shift
inputs=()
while [[ $1 != -- ]]; do
  inputs+=("$1")
  shift
done
shift

key=$({
  cat -- "${inputs[@]}"
  uname -sm
  go env GOVERSION
  printf '%s\n' "$@"
} | cksum)

if [[ -f $stamp && $(<"$stamp") == "$key" ]]; then
  exit 0
fi
rm -f -- "$stamp"
"$@"
mkdir -p -- "$(dirname -- "$stamp")"
printf '%s\n' "$key" >"$stamp"
