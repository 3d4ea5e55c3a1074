import { isModelHost } from "../../policy/network/model-hosts.ts";
import type { Policy } from "../../policy/schema.ts";
import type { EgressQuota } from "./limits.ts";
import type { Target } from "./target.ts";

/** The part of a policy that decides about hosts and requests, with the limits of a session. */
export type EgressRules = Pick<Policy["net"], "enabled" | "allowlist" | "deny"> &
  Partial<Pick<Policy["net"], "inspect" | "rules" | "secrets">> &
  Partial<EgressQuota>;

/** The client's protocol; `https` is a request in an inspected tunnel. */
export type Via = "http" | "https" | "connect" | "socks";

export interface EgressRequest extends Target {
  readonly via: Via;
}

export type DenialCode =
  | "malformed"
  | "network_off"
  | "denied"
  | "model_host"
  | "not_named"
  | "port_not_named"
  | "needs_tls"
  | "socks_needs_port"
  /** the name resolves to an address that is not allowed */
  | "address"
  | "server_name"
  /** a rule restricts requests, and the proxy could not see them */
  | "not_inspected"
  /** the method or the path is not allowed */
  | "request"
  /** a placeholder where its secret may not be sent */
  | "secret"
  | "limit";

export interface Denial {
  readonly allow: false;
  readonly code: DenialCode;
  /** a sentence without a full stop, for a status line */
  readonly reason: string;
  /** how to allow it */
  readonly remedy: string;
}

export interface Permission {
  readonly allow: true;
  /** the entry of the allowlist that allows it */
  readonly rule: string;
  /** whether the client must use TLS: other protocols need an entry with a port */
  readonly needsTls: boolean;
}

const webPorts: readonly number[] = [80, 443];
const tlsPort = 443;

/** Pure: whether a request is allowed. Deny wins over allow, and everything that is not named is refused. */
export function decide({ host, port, via }: EgressRequest, rules: EgressRules): Permission | Denial {
  if (!rules.enabled)
    return deny("network_off", "the policy does not give this session a network", "set net.enabled to true");
  const forbidding = rules.deny.find((pattern) => coversHost(pattern, host) && (portOf(pattern) ?? port) === port);
  if (forbidding !== undefined) {
    return deny("denied", `${host} is in net.deny (${forbidding})`, `remove ${forbidding} from net.deny`);
  }
  const named = rules.allowlist.filter((pattern) => coversHost(pattern, host));
  const rule = named.find((pattern) => portOf(pattern) === port) ?? named.find((one) => opensWebPort(one, port));
  if (named.length === 0) {
    return deny("not_named", `${host} is not in net.allowlist`, `add ${entryFor(host, port)} to net.allowlist`);
  }
  if (rule === undefined) {
    return deny("port_not_named", `port ${port} of ${host} is not in net.allowlist`, `add ${host}:${port} to it`);
  }
  if (isModelHost(host) && !named.some((pattern) => hostOf(pattern) === host)) {
    return deny(
      "model_host",
      `${host} is a model provider, and no entry names it`,
      `add ${host} itself to net.allowlist`,
    );
  }
  const namesPort = portOf(rule) === port;
  if (via === "socks" && !namesPort) {
    return deny("socks_needs_port", `SOCKS to ${host} needs an entry with its port`, `add ${host}:${port} to it`);
  }
  if (via === "http" && port === tlsPort) {
    return deny("needs_tls", `port ${tlsPort} of ${host} is for TLS`, `use https://${host}/`);
  }
  return { allow: true, rule, needsTls: via !== "http" && (!namesPort || port === tlsPort) };
}

export function malformed(reason: string): Denial {
  return deny("malformed", reason, "send the host by its plain name, as in packages.example:443");
}

export function deny(code: DenialCode, reason: string, remedy: string): Denial {
  return { allow: false, code, reason, remedy };
}

function entryFor(host: string, port: number): string {
  return webPorts.includes(port) ? host : `${host}:${port}`;
}

function opensWebPort(pattern: string, port: number): boolean {
  return portOf(pattern) === undefined && webPorts.includes(port);
}

function hostOf(pattern: string): string {
  return pattern.split(":")[0] ?? "";
}

function portOf(pattern: string): number | undefined {
  const [, port] = pattern.split(":");
  return port === undefined ? undefined : Number(port);
}

/** A wildcard covers whole labels below a name, but not the name itself. */
function coversHost(pattern: string, host: string): boolean {
  const name = hostOf(pattern);
  return name.startsWith("*.") ? host.endsWith(name.slice(1)) && host.length > name.length - 1 : host === name;
}
