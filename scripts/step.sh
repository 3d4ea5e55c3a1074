# Sourced by scripts that run a list of steps. Needs $logs, a directory for their output.
step() { # NAME SECONDS COMMAND...
  local name=$1 limit=$2 code=0 began=$SECONDS
  shift 2
  timeout "$limit" "$@" >"$logs/$name.log" 2>&1 || code=$?
  if [ "$code" -ne 0 ]; then
    echo "$name: FAILED with $code after $((SECONDS - began)) s; its last output:"
    tail -n 60 "$logs/$name.log"
    return 1
  fi
  echo "$name: passed in $((SECONDS - began)) s"
}
