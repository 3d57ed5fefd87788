#!/bin/sh
# Lets a pipeline go on only when an MCP server is healthy. Usage:
#
#   examples/ci-gate.sh http://localhost:3000/mcp
#
# Exit codes are those of mcpvigil check: 0 healthy, 1 unhealthy, 2 misconfigured
# or wrong usage, 3 degraded, 4 unknown.
set -eu

url=${1:?usage: ci-gate.sh URL}
attempt=1
while :; do
	status=0
	mcpvigil check --url "$url" --timeout 5000 --min-tools 1 --quiet || status=$?
	case $status in
	0) exit 0 ;;
	2) echo "$url: misconfigured; waiting will not help" >&2 && exit 2 ;;
	esac
	if [ "$attempt" -ge 10 ]; then
		mcpvigil check --url "$url" --timeout 5000 || exit $?
	fi
	attempt=$((attempt + 1))
	sleep 2
done
