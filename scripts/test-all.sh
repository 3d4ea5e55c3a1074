#!/usr/bin/env bash
# npm run test:all: every test, as CI runs it. A step prints one line when it passes, and the end of its output when it
# fails. The last lines name every test that was skipped and every one that failed.
# REQUIRE_RUNNERS=process,wasm,srt,container,gvisor,podman,kubernetes makes a missing runtime a failure.
# CHECKED_ELSEWHERE=1 is for a run beside `npm test` on the same files: it leaves out lint, types, and the unit tests that
# depend on nothing but Node.
# CONTAINERS_SECONDS=4000 gives the container tests more time, which ATTACKS=all and ATTACK_CONTROLS=all need.
set -euo pipefail
cd "$(dirname "$0")/.."

logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT
# shellcheck source=scripts/step.sh
source scripts/step.sh

suite() { # NAME SECONDS VITEST-ARGUMENTS...
  local name=$1 limit=$2
  shift 2
  local reporters=(--reporter=default --reporter=json --outputFile.json="$logs/$name.json")
  # Node parses extra certificates at every start, which takes longer than the start itself; tests talk to this machine only
  step "$name" "$limit" env -u NODE_EXTRA_CA_CERTS npx vitest run "${reporters[@]}" "$@"
}

# everything below starts the built files
is_built='import { isBuilt } from "./scripts/is-built.js"; process.exit(isBuilt(".") ? 0 : 1)'
node --input-type=module -e "$is_built" || step build 120 npm run build

units() {
  if [ -z "${CHECKED_ELSEWHERE:-}" ]; then
    suite units 900 --project unit
    return
  fi
  # Runners, and every file that may have skipped a test on the bare machine. A file that starts programs and never skips has
  # found them there.
  local on_machine
  mapfile -t on_machine < <(grep -rlE '\.(skip|runIf)|\bskip\(' src test/*.test.ts test/fuzz --include='*.test.ts')
  suite units 900 --project unit src/runners "${on_machine[@]}"
}

# Two parallel lanes of about the same length: a third one saves no time on two cores, which these keep busy. A limit ends a step that hangs; a slow machine must not reach it.
engines() {
  local failed=0
  suite containers "${CONTAINERS_SECONDS:-3000}" --project containers || failed=1
  suite own-engines 1200 --project own-engines || failed=1
  suite browser 1200 --project browser || failed=1
  clients_installed || return 1
  step check-clients 400 npx tsc --noEmit -p test/clients || failed=1
  suite clients 1200 --config test/clients/vitest.config.ts || failed=1
  suite gateways 900 --project gateways || failed=1
  return "$failed"
}
runners() {
  local failed=0
  step static 600 npm run "$([ -n "${CHECKED_ELSEWHERE:-}" ] && echo test:python || echo test:static)" || failed=1
  units || failed=1
  clients_installed || return 1 # sandbox-runtime is one of them
  # The bare machine asks the wasm runner for its contract. Here, where it runs in bubblewrap, its receipts, sessions and attacks do.
  local left_out=(--exclude test/containers/contract.test.ts)
  [ -z "${CHECKED_ELSEWHERE:-}" ] || left_out+=(--exclude test/contract/wasm.test.ts)
  suite runtime 3000 --project contract --project runtime "${left_out[@]}" || failed=1
  suite kubernetes 900 --project kubernetes || failed=1
  return "$failed"
}

# clients and sandbox-runtime, which are not dependencies of the package; no install scripts are run
install_clients() {
  step install-clients 900 npm ci --prefix test/clients --ignore-scripts --no-audit --no-fund && touch "$logs/clients-installed"
}
install_clients &
installing=$!
clients_installed() { # waits for them
  tail --pid="$installing" -f /dev/null
  [ -e "$logs/clients-installed" ]
}

failed=0
lanes=()
for lane in engines runners; do
  "$lane" &
  lanes+=($!)
done
for lane in "${lanes[@]}"; do wait "$lane" || failed=1; done
wait "$installing" || failed=1
node scripts/summarize-tests.js "$logs"/*.json || failed=1
exit "$failed"
