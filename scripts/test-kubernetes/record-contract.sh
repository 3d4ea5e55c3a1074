#!/usr/bin/env bash
# Records the answers of a real API server for the fake one of the tests: test/fakes/kubernetes-api/recorded.json.
# It needs etcd and kube-apiserver (see build-kubernetes.sh), no nodes and no network: both listen in a network namespace of
# their own.
#
#   record-contract.sh DIRECTORY    DIRECTORY/bin has the two programs
set -euo pipefail
bin=$(realpath "${1:?usage: record-contract.sh DIRECTORY}/bin")
cd "$(dirname "$0")/../.."
if [ -z "${RECORDS_INSIDE:-}" ]; then
  RECORDS_INSIDE=1 exec unshare --net -- bash "$0" "$(dirname "$bin")"
fi

ip link set lo up
# the API server looks for an address that is not loopback
ip link add name recorder type bridge
ip addr add 10.99.0.1/24 dev recorder
ip link set recorder up
ip route add default dev recorder

home=$(mktemp -d)
pids=()
finish() {
  for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
  for pid in "${pids[@]}"; do wait "$pid" 2>/dev/null || true; done
  rm -rf "$home"
}
trap finish EXIT

key() { openssl "$@" 2>/dev/null; }
key genrsa -out "$home/accounts.key" 2048
key req -x509 -newkey rsa:2048 -nodes -keyout "$home/ca.key" -out "$home/ca.crt" -days 2 -subj /CN=recorder
key req -newkey rsa:2048 -nodes -keyout "$home/server.key" -out "$home/server.csr" -subj /CN=kube-apiserver
echo 'subjectAltName=IP:127.0.0.1' >"$home/server.ext"
key x509 -req -in "$home/server.csr" -CA "$home/ca.crt" -CAkey "$home/ca.key" -CAcreateserial \
  -out "$home/server.crt" -days 2 -extfile "$home/server.ext"
printf 'admin-token,admin,1,system:masters\nlimited-token,limited,2\n' >"$home/tokens.csv"

"$bin/etcd" --data-dir "$home/etcd" --unsafe-no-fsync --listen-client-urls http://127.0.0.1:2379 \
  --advertise-client-urls http://127.0.0.1:2379 --listen-peer-urls http://127.0.0.1:2380 >"$home/etcd.log" 2>&1 &
pids+=($!)
export ETCDCTL_API=3
until "$bin/etcdctl" endpoint health >/dev/null 2>&1; do sleep 0.2; done
# versions before the server's start are forgotten: a watch from there gets 410
for count in $(seq 30); do "$bin/etcdctl" put /before "$count" >/dev/null; done

"$bin/kube-apiserver" --etcd-servers http://127.0.0.1:2379 --bind-address 127.0.0.1 --secure-port 6443 --insecure-port 0 \
  --advertise-address 10.99.0.1 --authorization-mode RBAC --token-auth-file "$home/tokens.csv" \
  --tls-cert-file "$home/server.crt" --tls-private-key-file "$home/server.key" \
  --service-account-issuer https://recorder --service-account-key-file "$home/accounts.key" \
  --service-account-signing-key-file "$home/accounts.key" --disable-admission-plugins ServiceAccount \
  --service-cluster-ip-range 10.98.0.0/24 >"$home/apiserver.log" 2>&1 &
pids+=($!)
# under curl's own name it would get indented answers, whose encoder crashes this build
ask() { curl -sSf -A recorder --max-time 10 --cacert "$home/ca.crt" -H 'Authorization: Bearer admin-token' -H 'Content-Type: application/json' "$@"; }
until [ "$(ask https://127.0.0.1:6443/readyz 2>/dev/null || true)" = ok ]; do
  kill -0 "${pids[1]}" || { tail -n 20 "$home/apiserver.log"; exit 1; }
  sleep 0.5
done
ask -o /dev/null https://127.0.0.1:6443/api/v1/namespaces -d '{"metadata":{"name":"cells"}}'
rights=https://127.0.0.1:6443/apis/rbac.authorization.k8s.io/v1/namespaces/cells
ask -o /dev/null "$rights/roles" -d '{"metadata":{"name":"limited"},"rules":[{"apiGroups":[""],"resources":["pods"],"verbs":["get","list"]}]}'
ask -o /dev/null "$rights/rolebindings" -d '{"metadata":{"name":"limited"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"Role","name":"limited"},"subjects":[{"kind":"User","apiGroup":"rbac.authorization.k8s.io","name":"limited"}]}'
sleep 1 # the authorizer sees new roles through a watch

RECORD_KUBERNETES_URL=https://127.0.0.1:6443 RECORD_KUBERNETES_CA="$home/ca.crt" \
  npx vitest run --project kubernetes test/kubernetes/recorded.test.ts
