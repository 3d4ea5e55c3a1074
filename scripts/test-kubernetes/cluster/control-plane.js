import { join } from "node:path";
import { run } from "../command.js";
import { withProgress } from "../progress.js";
import { apiAddress, apiPort, etcdUrl, serviceRange } from "./layout.js";
import { waitUntil } from "./wait-until.js";

/**
 * Starts etcd, the API server, the controllers and the scheduler, and waits until the API answers.
 * @param {{ directory: string, build: string, minor: number, processes: import("./processes.js").Processes }} cluster
 */
export async function startControlPlane({ directory, build, minor, processes }) {
  // up to 1.23 there is a port without TLS, which is off only when it is told so
  const noPorts = [...(minor < 24 ? ["--port=0"] : []), "--secure-port=0"];
  const program = (name) => join(build, "bin", name);
  const pki = (name) => join(directory, "pki", name);
  await processes.start("etcd", [program("etcd"), ...etcdArguments(directory)]);
  await processes.start("apiserver", [program("kube-apiserver"), ...apiServerArguments(pki)]);
  await withProgress("API server", () => apiAnswers({ build, directory }));
  await processes.start("controllers", [
    program("kube-controller-manager"),
    `--kubeconfig=${pki("controllers.kubeconfig")}`,
    ...["--leader-elect=false", "--use-service-account-credentials=false", ...noPorts],
    `--service-account-private-key-file=${pki("service-accounts.key")}`,
    `--root-ca-file=${pki("ca.crt")}`,
    // a node that is unplugged counts as lost after 16 s instead of 40 s
    ...["--node-monitor-period=2s", "--node-monitor-grace-period=16s"],
  ]);
  await processes.start("scheduler", [
    program("kube-scheduler"),
    `--kubeconfig=${pki("scheduler.kubeconfig")}`,
    ...["--leader-elect=false", ...noPorts],
  ]);
}

/** Waits until the API server is ready. */
export function apiAnswers({ build, directory }) {
  return waitUntil("the API server is ready", () => kubectl({ build, directory }, "get", "--raw", "/readyz"));
}

/** Runs kubectl as the cluster's administrator. */
export function kubectl({ build, directory }, ...argv) {
  const config = join(directory, "pki", "admin.kubeconfig");
  return run([join(build, "bin", "kubectl"), "--kubeconfig", config, "--cache-dir", join(directory, "cache"), ...argv]);
}

function etcdArguments(directory) {
  const peer = "http://127.0.0.1:2380";
  return [
    ...["--data-dir", join(directory, "etcd"), "--listen-client-urls", etcdUrl, "--advertise-client-urls", etcdUrl],
    ...["--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster", `default=${peer}`],
    "--unsafe-no-fsync", // the data is thrown away with the cluster
  ];
}

function apiServerArguments(pki) {
  return [
    ...[`--etcd-servers=${etcdUrl}`, `--secure-port=${apiPort}`, `--advertise-address=${apiAddress}`],
    ...[`--tls-cert-file=${pki("server.crt")}`, `--tls-private-key-file=${pki("server.key")}`],
    ...[`--token-auth-file=${pki("tokens.csv")}`, "--authorization-mode=Node,RBAC", "--anonymous-auth=false"],
    `--service-account-key-file=${pki("service-accounts.pub")}`,
    `--service-account-signing-key-file=${pki("service-accounts.key")}`,
    ...["--service-account-issuer=https://kubernetes.default.svc", `--service-cluster-ip-range=${serviceRange}`],
    // kubelets let nobody in without a certificate of the cluster's authority: pods can reach their ports
    `--kubelet-client-certificate=${pki("kubelet-client.crt")}`,
    `--kubelet-client-key=${pki("kubelet-client.key")}`,
    "--kubelet-preferred-address-types=InternalIP",
  ];
}
