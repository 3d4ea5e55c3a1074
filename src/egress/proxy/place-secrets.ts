import { hostPatternCovers } from "../../policy/network/host-pattern.ts";
import type { NetSecret } from "../../policy/network/net-secrets.ts";
import type { HeldSecret } from "../process/session-keys.ts";
import { type Denial, deny, type EgressRequest, type EgressRules } from "../rules/decide.ts";

/** The parts of a request in which placeholders are looked for. */
export interface RequestParts {
  readonly path: string;
  readonly headers: Readonly<Record<string, string | string[]>>;
}

type Placed = ({ readonly ok: true } & RequestParts) | { readonly ok: false; readonly denial: Denial };

/**
 * Pure: the request with placeholders replaced by values, where the policy allows it. A placeholder anywhere else reveals
 * nothing, but is refused, because it is an attempt to send a secret there. Bodies are not searched.
 */
export function placeSecrets(
  request: EgressRequest,
  parts: RequestParts,
  secrets: readonly HeldSecret[],
  rules: EgressRules,
): Placed {
  let placed = parts;
  for (const secret of secrets) {
    const found = occurrences(placed, secret);
    if (found.length === 0) continue;
    const named = rules.secrets?.[secret.name];
    const refusal = refused(request, secret.name, named, found);
    if (refusal) return { ok: false, denial: refusal };
    placed = replaced(placed, secret);
  }
  return { ok: true, ...placed };
}

/** `path`, `query`, or the name of a header. */
function occurrences({ path, headers }: RequestParts, { placeholder }: HeldSecret): string[] {
  const [beforeQuery = "", ...query] = path.split("?");
  const fields = Object.entries(headers).filter(([name, value]) => {
    return name.includes(placeholder) || [value].flat().some((one) => readable(name, one).includes(placeholder));
  });
  return [
    ...(beforeQuery.includes(placeholder) ? ["path"] : []),
    ...(query.join("?").includes(placeholder) ? ["query"] : []),
    ...fields.map(([name]) => `field ${name}`),
  ];
}

function refused(
  { host, port, via }: EgressRequest,
  name: string,
  secret: NetSecret | undefined,
  found: readonly string[],
): Denial | undefined {
  const rule = `net.secrets.${name}`;
  if (!secret?.hosts.some((pattern) => hostPatternCovers(pattern, `${host}:${port}`))) {
    return deny(
      "secret",
      `the secret ${name} may not be sent to ${host}:${port}`,
      `${rule}.hosts lists the hosts that get it`,
    );
  }
  if (via !== "https" && !secret.plaintext) {
    return deny("secret", `the secret ${name} may not be sent over plain HTTP`, `use https://${host}/`);
  }
  const wrong = found.find((place) => {
    return place === "query" ? !secret.query : !secret.headers.some((header) => place === `field ${header}`);
  });
  if (wrong === undefined) return undefined;
  const remedy =
    wrong === "query" ? `set ${rule}.query to allow it` : `${rule}.headers lists the headers that may carry it`;
  return deny("secret", `the secret ${name} may not be put into the ${wrong} of a request`, remedy);
}

function replaced({ path, headers }: RequestParts, { placeholder, value }: HeldSecret): RequestParts {
  const field = (name: string, text: string) => {
    const user = basicCredentials(name, text);
    if (!user?.includes(placeholder)) return text.replaceAll(placeholder, () => value);
    return `Basic ${Buffer.from(
      user.replaceAll(placeholder, () => value),
      "latin1",
    ).toString("base64")}`;
  };
  return {
    path: path.replaceAll(placeholder, () => encodeURIComponent(value)),
    headers: Object.fromEntries(
      Object.entries(headers).map(([name, text]) => {
        return [name, typeof text === "string" ? field(name, text) : text.map((one) => field(name, one))];
      }),
    ),
  };
}

/** git and `curl -u` send what they are given in base64. */
function readable(name: string, text: string): string {
  return basicCredentials(name, text) ?? text;
}

function basicCredentials(name: string, text: string): string | undefined {
  const [, encoded] = (name === "authorization" && /^basic +([A-Za-z0-9+/]+=*) *$/i.exec(text)) || [];
  return encoded === undefined ? undefined : Buffer.from(encoded, "base64").toString("latin1");
}
