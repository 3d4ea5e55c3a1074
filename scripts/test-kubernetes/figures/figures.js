import { modelGateway, modelNode, modelOf } from "./model.js";

/** What each figure is, and how it is shown. A goal is a bound that a step enforces. */
const rows = [
  ["podStartMs", "start of a bare pod: request until its container runs", ms],
  ["coldReplyMs", "first reply of a new session without the pool", ms],
  ["pooledReplyMs", "first reply of a new session from the pool (goal: at most 1/20 of a pod's start)", ms],
  ["claimedReplyMs", "first reply of a new session whose pod agent-sandbox kept warm", ms],
  ["forwardTripMs", "100 bytes to a pod and back, by a forwarded port", ms],
  ["attachTripMs", "100 bytes to a pod and back, by attach", ms],
  ["dialTripMs", "100 bytes to a pod and back, over a connection that the pod opens", ms],
  ["podRunMs", "one run in a pod, from the library", ms],
  ["containerRunMs", "one run in a local container, from the library", ms],
  ["gatewayToPodRunMs", "one run in a pod, through a gateway (goal: at most 3 times the next row)", ms],
  ["gatewayToContainerRunMs", "one run in a local container, through a gateway", ms],
  ["openSeconds", "100 sessions opened, ten at a time", seconds],
  ["nodeBytesPerSession", "memory of a node for one idle session (pod, pause container, shim)", mib],
  ["gatewayBytes", "memory of a gateway with one session", mib],
  ["gatewayBytesPerSession", "memory of a gateway for each further idle session", mib],
  ["gatewayCpuMsPerIdleSessionSecond", "CPU time of a gateway for one idle session, per second", ms],
  ["gatewayCpuMsPerStart", "CPU time of a gateway to start one session", ms],
  ["nodeLossToldSeconds", "node unplugged: until the run ends and names the node", seconds],
  ["nodeLossBackSeconds", "node unplugged: until the session answers on the other node", seconds],
  [
    "unnoticedNodeLossToldSeconds",
    "node unplugged unnoticed by Kubernetes: until the run ends and names the node",
    seconds,
  ],
  ["reapedSeconds", "gateway killed: until its pods are gone after the next one has started", seconds],
];

const begin = "<!-- Made by `npm run test:kubernetes -- --figures`. Do not edit. -->";

/**
 * Pure: the page with the last run's results.
 * @param {{ at: string, kubernetes: string, machine: string, steps: readonly { at: string, name: string, asks: string, status: string, seconds: number, detail: string, figures?: Record<string, number> }[] }} report
 */
export function figuresText(report) {
  const figures = Object.assign({}, ...report.steps.map((step) => step.figures ?? {}));
  return [
    begin,
    "# Last run on a real cluster",
    "",
    `${day(report.at)} UTC, codecell ${report.codecell}, Kubernetes ${report.kubernetes}, ${report.containerd}, Node ${report.node}; ${report.machine}. Both nodes, the control plane and the gateways share this machine, so a pod's start is slower here than on nodes of its own.`,
    "",
    "| step | question | result | at (UTC) |",
    "|---|---|---|---|",
    ...report.steps.map(
      ({ name, asks, status, detail, at }) => `| ${name} | ${asks} | **${status}**: ${cell(detail)} | ${day(at)} |`,
    ),
    "",
    "## Figures",
    "",
    "| what | measured |",
    "|---|---|",
    ...rows.filter(([key]) => key in figures).map(([key, what, show]) => `| ${what} | ${show(figures[key])} |`),
    "",
    ...modelText(figures),
  ].join("\n");
}

function modelText(figures) {
  if (!("nodeBytesPerSession" in figures)) return [];
  const models = [10_000, 100_000].map((sessions) => modelOf(sessions, figures));
  const [first] = models;
  const gib = (bytes) => `${bytes / 2 ** 30} GiB`;
  const number = (value) => value.toLocaleString("en-US");
  return [
    "## Model: 10,000 and 100,000 sessions",
    "",
    `**A model, not a measurement**: the figures above, multiplied. All sessions are live and idle; their programs' own memory comes on top. A node has ${gib(modelNode.memoryBytes)}, of which ${gib(modelNode.reservedBytes)} are the system's, and takes ${modelNode.pods} pods, as Kubernetes recommends: by memory alone it would take ${number(first.perNodeByMemory)}. A gateway has ${gib(modelGateway.memoryBytes)} and uses half a core.`,
    "",
    "| sessions | sessions per node | nodes | sessions per gateway | gateways | clusters |",
    "|---|---|---|---|---|---|",
    ...models.map(
      (one) =>
        `| ${number(one.sessions)} | ${one.perNode} | ${number(one.nodes)} | ${number(one.perGateway)} | ${one.gateways} | ${one.clusters} |`,
    ),
    "",
  ];
}

function day(at) {
  return at.slice(0, 16).replace("T", " ");
}

function cell(text) {
  return text.split("\n")[0].replaceAll("|", "\\|");
}

function ms(value) {
  return `${value.toFixed(value < 10 ? 2 : 0)} ms`;
}

function seconds(value) {
  return `${value.toFixed(1)} s`;
}

function mib(value) {
  return `${(value / 2 ** 20).toFixed(2)} MiB`;
}
