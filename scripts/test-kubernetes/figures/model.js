// Pure: what the measured costs of one session mean for many. Arithmetic, not a measurement.

/** A machine of a cluster as people rent it. Kubernetes recommends at most 110 pods on a node. */
export const modelNode = { memoryBytes: 64 * 2 ** 30, reservedBytes: 4 * 2 ** 30, pods: 110 };
/** A gateway pod: one process of Node, which uses one core. */
export const modelGateway = { memoryBytes: 2 * 2 ** 30, cpuMsPerSecond: 500 };
/** Where Kubernetes itself ends, by its own documentation: nodes and pods of one cluster. */
export const clusterLimits = { nodes: 5000, pods: 150_000 };

/**
 * @param {number} sessions all live at once, idle
 * @param {{ nodeBytesPerSession: number, gatewayBytes: number, gatewayBytesPerSession: number, gatewayCpuMsPerIdleSessionSecond: number }} figures
 */
export function modelOf(sessions, figures) {
  const byMemory = Math.floor((modelNode.memoryBytes - modelNode.reservedBytes) / figures.nodeBytesPerSession);
  const perNode = Math.min(byMemory, modelNode.pods);
  const free = modelGateway.memoryBytes - figures.gatewayBytes;
  const byGatewayMemory = free / Math.max(figures.gatewayBytesPerSession, 1);
  const byGatewayCpu = modelGateway.cpuMsPerSecond / Math.max(figures.gatewayCpuMsPerIdleSessionSecond, 1e-6);
  const perGateway = Math.floor(Math.min(byGatewayMemory, byGatewayCpu));
  return {
    sessions,
    perNodeByMemory: byMemory,
    perNode,
    nodes: Math.ceil(sessions / perNode),
    perGateway,
    gateways: Math.ceil(sessions / perGateway),
    clusters: Math.ceil(sessions / Math.min(clusterLimits.pods, clusterLimits.nodes * perNode)),
  };
}
