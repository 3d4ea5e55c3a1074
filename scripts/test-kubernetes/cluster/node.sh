#!/bin/bash
# The first process of a node: it holds the node's network and mount namespaces, in which containerd and kubelet run.
#   node.sh DIRECTORY
set -eu
directory=$1
mkdir -p "$directory"/{upper,work,sysctl}

# What programs write into their fixed places ends with the node: sockets below /run, logs and caches below /var.
mount -t tmpfs none /run
mkdir /run/lock
mount -t overlay overlay -o "lowerdir=/var,upperdir=$directory/upper,workdir=$directory/work" /var

# Linux mounts a new /proc in a pod's user namespace only where it finds one that nothing covers, as the next lines do.
mkdir "$directory/proc"
mount -t proc proc "$directory/proc"

# A kubelet sets these for the whole machine. Here it sets copies.
for name in vm/overcommit_memory vm/panic_on_oom kernel/panic kernel/panic_on_oops kernel/keys/root_maxkeys kernel/keys/root_maxbytes; do
  copy="$directory/sysctl/${name//\//.}"
  cat "/proc/sys/$name" > "$copy"
  mount --bind "$copy" "/proc/sys/$name"
done
ip link set lo up
echo 1 > /proc/sys/net/ipv4/ip_forward
touch "$directory/ready"
exec sleep infinity
