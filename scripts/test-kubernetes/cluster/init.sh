#!/bin/bash
# Process 1 of the cluster's pid namespace: when it exits, everything in the cluster is killed. It collects orphans, which
# containerd's shims are by design.
#   init.sh COMMAND...
exec 3<&0 # a job in the background has no standard input unless it is given one
"$@" <&3 &
child=$!
trap 'kill -TERM $child' TERM INT
while kill -0 $child 2> /dev/null; do wait $child; code=$?; done
exit "$code"
