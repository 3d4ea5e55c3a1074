// Pure: what a fake policy engine does to a pod. It knows one kind of policy, the one that codecell uses: no traffic at all.

/**
 * @param {{ labels: Record<string, string> }} pod
 * @param {readonly import("@kubernetes/client-node").V1NetworkPolicy[]} policies of its namespace
 * @returns {{ deniesIngress: boolean, deniesEgress: boolean, unknown: string[] }} unknown: policies with exceptions, which this
 *   engine reads as if they had none
 */
export function isolationOf({ labels }, policies) {
  const selecting = policies.filter(({ spec }) => selects(spec?.podSelector ?? {}, labels));
  const types = selecting.flatMap(({ spec }) => spec?.policyTypes ?? ["Ingress", ...(spec?.egress ? ["Egress"] : [])]);
  const hasExceptions = ({ spec }) => (spec?.ingress ?? []).length > 0 || (spec?.egress ?? []).length > 0;
  return {
    deniesIngress: types.includes("Ingress"),
    deniesEgress: types.includes("Egress"),
    unknown: selecting.filter(hasExceptions).map(({ metadata }) => metadata?.name ?? "?"),
  };
}

/** @param {import("@kubernetes/client-node").V1LabelSelector} selector */
function selects({ matchLabels = {}, matchExpressions = [] }, labels) {
  const hasLabels = Object.entries(matchLabels).every(([key, value]) => labels[key] === value);
  return hasLabels && matchExpressions.every((expression) => holds(expression, labels));
}

function holds({ key, operator, values = [] }, labels) {
  switch (operator) {
    case "In":
      return key in labels && values.includes(labels[key]);
    case "NotIn":
      return !(key in labels) || !values.includes(labels[key]);
    case "Exists":
      return key in labels;
    case "DoesNotExist":
      return !(key in labels);
    default:
      throw new Error(`a selector with the operator ${operator}`);
  }
}

/**
 * The pod's whole packet filter, for iptables-restore.
 * @param {{ deniesIngress: boolean, deniesEgress: boolean }} isolation
 */
export function filterOf({ deniesIngress, deniesEgress }) {
  return [
    "*filter",
    `:INPUT ${deniesIngress ? "DROP" : "ACCEPT"} [0:0]`,
    ":FORWARD DROP [0:0]",
    `:OUTPUT ${deniesEgress ? "DROP" : "ACCEPT"} [0:0]`,
    "-A INPUT -i lo -j ACCEPT",
    "-A OUTPUT -o lo -j ACCEPT",
    // replies to what the other direction allows
    ...(deniesIngress && deniesEgress
      ? []
      : ["INPUT", "OUTPUT"].map((chain) => `-A ${chain} -m conntrack --ctstate ESTABLISHED -j ACCEPT`)),
    "COMMIT",
    "",
  ].join("\n");
}
