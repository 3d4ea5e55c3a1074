#!/bin/bash
# Builds the servers of Kubernetes 1.20 from Debian's source package, for tests only: this version gets no security fixes.
# Nothing is installed. Needs apt (with deb822 sources), about 6 GB of disk and 10 minutes on two cores.
#
#   build-kubernetes.sh DIRECTORY    leaves DIRECTORY/bin with kube-apiserver, kubelet, etcd, kubectl …
set -euo pipefail
out=$(realpath -m "${1:?usage: build-kubernetes.sh DIRECTORY}")
version='1.20.5+really1.20.2-1.1+deb12u1'
programs='kube-apiserver kubelet kube-controller-manager kube-scheduler'

mkdir -p "$out"/{bin,debs,root,apt/lists/partial,apt/archives/partial}
cd "$out"

# A package list of its own, with sources: the machine's own settings stay as they are.
sed 's/^Types: deb$/Types: deb deb-src/' /etc/apt/sources.list.d/debian.sources > apt/debian.sources
apt=(-o "Dir::State::lists=$out/apt/lists" -o "Dir::Cache::archives=$out/apt/archives" -o "Dir::Etc::sourcelist=/dev/null"
  -o "Dir::Etc::sourceparts=$out/apt/parts" -o "APT::Sandbox::User=root")
mkdir -p apt/parts && cp apt/debian.sources apt/parts/
apt-get "${apt[@]}" update -qq
(cd debs && apt-get "${apt[@]}" download -q golang-1.19-go golang-1.19-src etcd-server etcd-client kubernetes-client containernetworking-plugins)
for package in debs/*.deb; do dpkg -x "$package" root; done
(cd debs && apt-get "${apt[@]}" source -q --download-only "kubernetes=$version")

source=gopath/src/k8s.io/kubernetes
mkdir -p "$source"
tar -xf debs/kubernetes_*.orig.tar.gz -C "$source" --strip-components=1

export GOROOT="$out/root/usr/lib/go-1.19" GOPATH="$out/gopath" GOCACHE="$out/gocache"
export GO111MODULE=off CGO_ENABLED=0 GOFLAGS= GOPROXY=off PATH="$out/root/usr/lib/go-1.19/bin:$PATH"
# Debian splits Go into two packages and joins them with links.
[ -e "$GOROOT/src" ] || ln -s "$out/root/usr/share/go-1.19/src" "$GOROOT/src"
cd "$source"

# The package lacks one generated file. Its generator is in the package.
go build -o "$out/openapi-gen" ./vendor/k8s.io/kube-openapi/cmd/openapi-gen
inputs=$(grep -rlE --include='*.go' --exclude='zz_generated*' '^\s*// \+k8s:openapi-gen=' pkg cmd staging/src vendor/k8s.io/kube-openapi vendor/k8s.io/api \
  | xargs -n1 dirname | sort -u \
  | sed -E 's,^staging/src/,k8s.io/kubernetes/vendor/,; t; s,^vendor/,k8s.io/kubernetes/vendor/,; t; s,^,k8s.io/kubernetes/,' \
  | grep -vE 'testing|testdata|/test/|sample-|_examples|code-generator|metrics/|kube-aggregator/pkg/apiserver$' | paste -sd,)
"$out/openapi-gen" -i "$inputs" -p k8s.io/kubernetes/pkg/generated/openapi -O zz_generated.openapi \
  -h hack/boilerplate/boilerplate.generatego.txt -r "$out/violations.report"

numbers='version.gitVersion=v1.20.2 version.gitMajor=1 version.gitMinor=20'
flags='-s -w'
for number in $numbers; do
  for package in k8s.io/component-base k8s.io/kubernetes/vendor/k8s.io/{component-base,client-go/pkg}; do flags+=" -X $package/$number"; done
done
for program in $programs; do
  echo "building $program"
  go build -ldflags "$flags" -o "$out/bin/$program" "./cmd/$program"
done
cp "$out"/root/usr/bin/{etcd,etcdctl,kubectl} "$out/bin/"
mkdir -p "$out/cni" && cp "$out"/root/usr/lib/cni/* "$out/cni/"
echo "built in $out/bin"
