/** What an object in the cluster is for. */
export type ObjectRole = "cell" | "probe" | "examiner" | "kernel" | "pool" | "claim" | "proof";

export const managedBy = { "app.kubernetes.io/managed-by": "codecell" } as const;
export const roleLabel = "codecell/role";
export const gatewayLabel = "codecell/gateway";
/** Pods with this label are what the NetworkPolicy selects. */
export const closedLabel = { "codecell/network": "none" } as const;

/** Every object carries these, so that any gateway can find and remove what a dead one left. */
export function labelsOf(role: ObjectRole, gateway: string): Record<string, string> {
  return { ...managedBy, [roleLabel]: role, [gatewayLabel]: gateway };
}

/** Labels as a selector in a query. */
export function selectorOf(labels: Readonly<Record<string, string>>): string {
  return Object.entries(labels)
    .map(([name, value]) => `${name}=${value}`)
    .join(",");
}
