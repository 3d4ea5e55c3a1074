// Pure: the configuration of one node's programs.
import { join } from "node:path";
import { pauseImage } from "../images.js";

/** @param {{ directory: string, plugins: string, hasGvisor: boolean }} node */
export function containerdConfig({ directory, plugins, hasGvisor }) {
  const at = (name) => JSON.stringify(join(directory, name));
  const cri = 'plugins."io.containerd.grpc.v1.cri"';
  return `version = 2
root = ${at("containerd")}
state = ${at("state")}
[grpc]
address = ${at("containerd.sock")}
[plugins."io.containerd.internal.v1.opt"]
path = ${at("opt")}
[${cri}]
sandbox_image = "${pauseImage}"
stream_server_address = "127.0.0.1"
# root of a container or a virtual machine may lack the right to lower oom_score_adj
restrict_oom_score_adj = true
[${cri}.cni]
# containerd looks in one directory only: the built plugins are linked there, beside the fake policy engine
bin_dir = ${JSON.stringify(plugins)}
conf_dir = ${at("net.d")}
[${cri}.containerd]
snapshotter = "overlayfs"
default_runtime_name = "runc"
[${cri}.containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"
${hasGvisor ? gvisorRuntime(cri, at("runsc.toml")) : ""}`;
}

/** As gVisor's documentation says. */
function gvisorRuntime(cri, config) {
  return `[${cri}.containerd.runtimes.runsc]
runtime_type = "io.containerd.runsc.v1"
[${cri}.containerd.runtimes.runsc.options]
TypeUrl = "io.containerd.runsc.v1.options"
ConfigPath = ${config}
`;
}

/** @param {{ directory: string, program: string }} node */
export function runscConfig({ directory, program }) {
  return `binary_name = ${JSON.stringify(program)}
root = ${JSON.stringify(join(directory, "runsc"))}
[runsc_config]
platform = "systrap"
`;
}

/** @param {{ address: string, cgroup: string, authority: string, minor: number }} node JSON is YAML */
export function kubeletConfig({ address, cgroup, authority, minor }) {
  return JSON.stringify({
    apiVersion: "kubelet.config.k8s.io/v1beta1",
    kind: "KubeletConfiguration",
    authentication: { anonymous: { enabled: false }, webhook: { enabled: true }, x509: { clientCAFile: authority } },
    authorization: { mode: "Webhook" },
    address,
    readOnlyPort: 0,
    cgroupDriver: "cgroupfs",
    cgroupRoot: `/${cgroup}`,
    enforceNodeAllocatable: ["pods"],
    failSwapOn: false,
    podPidsLimit: 512,
    maxPods: 200,
    kubeAPIQPS: 50,
    kubeAPIBurst: 100,
    serializeImagePulls: false,
    nodeStatusUpdateFrequency: "4s",
    // the machine's own disk and memory may be nearly full, which is none of a test cluster's business
    evictionHard: { "imagefs.available": "1%", "nodefs.available": "1%", "memory.available": "50Mi" },
    imageGCHighThresholdPercent: 100,
    imageGCLowThresholdPercent: 99,
    resolvConf: "",
    makeIPTablesUtilChains: false,
    ...(minor >= 31 ? { failCgroupV1: false } : {}),
  });
}

/**
 * The network of a node's pods: a bridge, and in the mode "enforced" the fake policy engine behind it. A bridge alone accepts
 * network policies and ignores them, as many real clusters do.
 * @param {{ name: string, directory: string, pods: string, policies: "ignored" | "enforced", engineSocket: string }} node
 */
export function networkConfig({ name, directory, pods, policies, engineSocket }) {
  const ranges = [[{ subnet: pods }]];
  const ipam = { type: "host-local", dataDir: join(directory, "ipam"), ranges, routes: [{ dst: "0.0.0.0/0" }] };
  const plugins = [{ type: "bridge", bridge: "cni0", isGateway: true, ipMasq: false, ipam }];
  if (policies === "enforced") plugins.push({ type: "codecell-fake-policy-engine", node: name, socket: engineSocket });
  return JSON.stringify({ cniVersion: "0.4.0", name: "codecell-test", plugins });
}
