# Sourced by scripts that run a list of steps. Needs $logs, a directory for their output.
step() { # NAME SECONDS COMMAND...
  local name=$1 limit=$2 code=0 took
  # how long, and the processor time in programs and in the OS for them; daemons that were left running are not counted
  local TIMEFORMAT='%0R s (processor: %0U s + %0S s)'
  shift 2
  took=$({ time timeout "$limit" "$@" >"$logs/$name.log" 2>&1; } 2>&1) || code=$?
  if [ "$code" -ne 0 ]; then
    echo "$name: FAILED with $code after $took; its last output:"
    tail -n 60 "$logs/$name.log"
    # of many failed tests, the last lines name only some
    grep -a ' FAIL .* > ' "$logs/$name.log" | sort -u | head -n 40 || true
    return 1
  fi
  echo "$name: passed in $took"
}
