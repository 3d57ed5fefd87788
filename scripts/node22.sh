#!/usr/bin/env bash
# node22.sh LINK
#
# Makes LINK point at a Node of release 22 or newer, which the conformance suite
# needs: the installed one if it is new enough, else the one that comes with
# test/conformance.
set -euo pipefail

link=${1:?usage: node22.sh LINK}
cd -- "$(dirname -- "$0")/.."

found=
if command -v node >/dev/null && (($(node -p 'process.versions.node.split(".")[0]') >= 22)); then
  found=$(command -v node)
else
  for candidate in "$PWD"/test/conformance/node_modules/node-linux-*/bin/node; do
    [[ -x $candidate ]] && "$candidate" --version >/dev/null 2>&1 && found=$candidate
  done
fi
if [[ -z $found ]]; then
  echo "no Node of release 22 or newer: install one, or run npm ci in test/conformance" >&2
  exit 1
fi
mkdir -p -- "$(dirname -- "$link")"
ln -sfn -- "$found" "$link"
