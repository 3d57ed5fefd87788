#!/usr/bin/env bash
# system-deps.sh
#
# Checks for the programs that the tests need beside Go. What is missing is
# installed on a Debian system when run as root; elsewhere it is named.
set -euo pipefail

missing=()
need() { command -v "$1" >/dev/null || missing+=("$2"); }
need node nodejs
need npm npm
need gcc gcc
need git git
# The tests start a PostgreSQL of their own: its programs are enough, no service is needed.
compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null || need initdb postgresql
need psql postgresql-client
# Pages are tested in a browser; CHROME names another one.
[[ -n ${CHROME:-} ]] || command -v google-chrome >/dev/null || need chromium chromium
# The race detector links against the C library.
if [[ $(uname -s) == Linux ]] && command -v gcc >/dev/null && ! echo '#include <stdlib.h>' | gcc -E - >/dev/null 2>&1; then
  missing+=(libc6-dev)
fi
((${#missing[@]})) || exit 0

if [[ $(id -u) != 0 ]] || ! command -v apt-get >/dev/null; then
  echo "missing: ${missing[*]} (install them, then run make again)" >&2
  exit 1
fi
[[ " ${missing[*]} " == *" gcc "* ]] && missing+=(libc6-dev)
export DEBIAN_FRONTEND=noninteractive
apt-get update
apt-get install -y --no-install-recommends "${missing[@]}"
