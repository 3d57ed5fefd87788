#!/usr/bin/env bash
# fuzz.sh DURATION
#
# Runs every fuzz target of the module for DURATION (seconds, or a Go duration
# such as 10m), two at a time, and fails if one of them does, or runs nothing.
#
# Minimising what was found interesting would eat the whole of a short run, so it
# is limited to one execution.
set -euo pipefail

duration=${1:?usage: fuzz.sh DURATION}
[[ $duration =~ ^[0-9]+$ ]] && duration+=s
GO=${GO:-go}
cd -- "$(dirname -- "$0")/.."

logs=$(mktemp -d)
trap 'rm -rf -- "$logs"' EXIT

# Prints "PACKAGE TARGET" lines.
targets() {
  "$GO" list -f '{{$p := .}}{{range .TestGoFiles}}{{$p.ImportPath}} {{$p.Dir}}/{{.}}{{"\n"}}{{end}}{{range .XTestGoFiles}}{{$p.ImportPath}} {{$p.Dir}}/{{.}}{{"\n"}}{{end}}' ./... |
    while read -r package file; do
      [[ -n $package ]] || continue
      sed -nE "s|^func (Fuzz[A-Za-z0-9_]*)\(.*|$package \1|p" "$file"
    done
}

fuzz_one() {
  local package=$1 target=$2 log=$3 time=$duration
  local attempt
  for attempt in 1 2; do
    if "$GO" test -run '^$' -fuzz "^$target\$" -fuzztime "$time" -fuzzminimizetime 1x -parallel 1 "$package" >"$log" 2>&1; then
      local execs corpus
      execs=$(grep -oE 'execs: [0-9]+' "$log" | tail -1 | grep -oE '[0-9]+' || echo 0)
      corpus=$(grep -oE 'baseline coverage: [0-9]+/[0-9]+' "$log" | tail -1 | grep -oE '[0-9]+$' || echo 0)
      if ((execs > 0)); then
        echo "ok    $package $target: $execs executions, with a corpus of $corpus"
        return
      fi
      # The time went by with the inputs that are already known.
      [[ $time =~ ^([0-9]+)([smh])$ ]] && time=$((4 * BASH_REMATCH[1]))${BASH_REMATCH[2]}
      continue
    fi
    # The fuzzing engine sometimes reports its own end of time as a failure of
    # the target. A real failure leaves its input behind.
    if grep -q 'Failing input written' "$log" || ! grep -q 'context deadline exceeded' "$log"; then
      break
    fi
  done
  echo "FAIL  $package $target"
  sed 's/^/      /' "$log"
  touch "$log.failed"
}

list=$(targets)
total=0
while read -r package target; do
  [[ -n $package ]] || continue
  while (($(jobs -rp | wc -l) >= 2)); do
    wait -n
  done
  total=$((total + 1))
  fuzz_one "$package" "$target" "$logs/$total" </dev/null &
done <<<"$list"
wait

if ((total == 0)); then
  echo "no fuzz targets"
  exit 0
fi
failed=$(find "$logs" -name '*.failed' | wc -l)
echo "fuzz: $((total - failed)) passed, $((failed)) failed"
((failed == 0))
