/** Where everything is in the test cluster. All addresses exist only in its own network namespaces. */
export const bridge = "cc-cluster";
export const apiAddress = "10.78.0.1";
export const apiPort = 6443;
export const apiUrl = `https://${apiAddress}:${apiPort}`;
/** what pods find in KUBERNETES_SERVICE_HOST; there is no kube-proxy, each node has one rule for this address */
export const serviceAddress = "10.96.0.1";
export const serviceRange = "10.96.0.0/16";
export const etcdUrl = "http://127.0.0.1:2379";
/** in every cgroup hierarchy */
export const cgroupName = "codecell-test-kubernetes";

export const nodes = [1, 2].map((number) => ({
  name: `node${number}`,
  address: `10.78.0.${10 + number}`,
  pods: `10.78.${10 + number}.0/24`,
  /** its end of the cable, on the bridge */
  cable: `cc-node${number}`,
  cgroup: `${cgroupName}/node${number}`,
}));
