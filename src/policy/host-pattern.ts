import { z } from "zod";

const label = "[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?";
const pattern = new RegExp(`^(?:\\*\\.)?(?:${label}\\.){1,32}(?=[a-z0-9-]*[a-z])${label}(?::[1-9][0-9]{0,4})?$`);

/**
 * A host as the egress rules name it: `packages.example`, `*.example.com` (whole labels, not the name itself), `git.example.com:22`.
 * Lower case and ASCII only, so that one host has one spelling; a last label without a letter would be an address.
 */
export const hostPattern = z
  .string("expected a host such as packages.example")
  .max(260, "at most 260 characters")
  .regex(pattern, {
    message: "expected a host in lower case such as packages.example, *.example.com or git.example.com:22",
    abort: true,
  })
  .refine((text) => Number(text.split(":")[1] ?? 443) <= 65_535, "a port is at most 65535");

/** Whether everything that `narrow` names is also named by `wide`. Without a port a pattern means the web's, 80 and 443. */
export function hostPatternCovers(wide: string, narrow: string): boolean {
  const [wideHost = "", widePort] = wide.split(":");
  const [narrowHost = "", narrowPort] = narrow.split(":");
  const portCovered = widePort === narrowPort || (widePort === undefined && ["80", "443"].includes(narrowPort ?? ""));
  if (!portCovered) return false;
  if (wideHost === narrowHost) return true;
  return wideHost.startsWith("*.") && narrowHost.endsWith(wideHost.slice(1));
}

/** The same for rules that restrict: without a port they mean every port, so that none is forgotten. */
export function restrictionCovers(wide: string, narrow: string): boolean {
  const [wideHost = "", widePort] = wide.split(":");
  const [narrowHost = "", narrowPort] = narrow.split(":");
  if (widePort !== undefined && widePort !== narrowPort) return false;
  return wideHost === narrowHost || (wideHost.startsWith("*.") && narrowHost.endsWith(wideHost.slice(1)));
}
