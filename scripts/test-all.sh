#!/usr/bin/env bash
# npm run test:all: every test, as CI runs it. A step prints one line when it passes, and the end of its output when it
# fails. The last lines name every test that was skipped and every one that failed.
# REQUIRE_RUNNERS=process,wasm,srt,container,gvisor,podman makes a missing runtime a failure.
# CHECKED_ELSEWHERE=1 is for a run beside `npm test` on the same files: it leaves out lint, types, and the unit tests that
# depend on nothing but Node.
# CONTAINERS_SECONDS=2400 gives the container tests more time, which ATTACKS=all and ATTACK_CONTROLS=all need.
set -euo pipefail
cd "$(dirname "$0")/.."

logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT
# shellcheck source=scripts/step.sh
source scripts/step.sh

suite() { # NAME SECONDS VITEST-ARGUMENTS...
  local name=$1 limit=$2
  shift 2
  # Node parses extra certificates at every start, which takes longer than the start itself; tests talk to this machine only
  step "$name" "$limit" env -u NODE_EXTRA_CA_CERTS npx vitest run --reporter=default --reporter=json --outputFile.json="$logs/$name.json" "$@"
}

# everything below starts the built files
is_built='import { isBuilt } from "./scripts/is-built.js"; process.exit(isBuilt(".") ? 0 : 1)'
node --input-type=module -e "$is_built" || step build 120 npm run build

units() {
  if [ -z "${CHECKED_ELSEWHERE:-}" ]; then
    suite units 300 --project unit
    return
  fi
  # those that use programs of the machine, and every file that could skip a test without them
  local may_skip
  mapfile -t may_skip < <(grep -rlE '\bskip|runIf' src --include='*.test.ts')
  suite units 300 --project unit src/runners src/egress src/kernel src/lib src/surfaces/cli test/ "${may_skip[@]}"
}

# Two parallel lanes of about the same length. Tests of real runtimes mostly wait, so the second lane runs two files at a
# time to keep both cores busy. The first begins with minutes of waiting for packages of the image.
engines() {
  local failed=0
  suite containers "${CONTAINERS_SECONDS:-1000}" --project containers || failed=1
  suite own-engines 500 --project own-engines || failed=1
  # the other lane has installed them long ago; without them this fails
  suite clients 400 --config test/clients/vitest.config.ts || failed=1
  return "$failed"
}
others() {
  local failed=0
  # clients and sandbox-runtime, which are not dependencies of the package; no install scripts are run
  step install-clients 180 npm ci --prefix test/clients --ignore-scripts --no-audit --no-fund &
  local installing=$!
  step static 300 npm run "$([ -n "${CHECKED_ELSEWHERE:-}" ] && echo test:python || echo test:static)" || failed=1
  units || failed=1
  wait "$installing" || return 1
  step check-clients 120 npx tsc --noEmit -p test/clients || failed=1
  suite runtime 1000 --project contract --project runtime --exclude 'test/containers/contract.test.ts' || failed=1
  return "$failed"
}
failed=0
engines &
beside=$!
others || failed=1
wait "$beside" || failed=1
node scripts/summarize-tests.js "$logs"/*.json || failed=1
exit "$failed"
