import { taggedGateway } from "../../service/gateways/gateway-tag.ts";

/** What a message is about: a session, what one gateway has in its memory, or nothing that a gateway owns. */
export type NamedInMessage =
  | { readonly kind: "session"; readonly id: string }
  | { readonly kind: "default-session" }
  | { readonly kind: "gateway"; readonly id: string }
  | { readonly kind: "nothing" };

export const nothingNamed: NamedInMessage = { kind: "nothing" };
/** Requests that need no session. */
const sessionless =
  /^(?:initialize|ping|server\/|tools\/list|resources\/templates\/|prompts\/|logging\/|notifications\/)/;

/** Pure: what an MCP message is about. It is not validated yet: a wrong guess only lets this gateway answer. */
export function namedInMessage(message: unknown): NamedInMessage {
  const { method, params } = fieldsOf(message);
  if (typeof method !== "string" || sessionless.test(method)) return nothingNamed;
  const { arguments: given, uri } = fieldsOf(params);
  const [, ofUri] = /^codecell:\/\/sessions\/([^/]+)\//.exec(typeof uri === "string" ? uri : "") ?? [];
  if (ofUri !== undefined) return { kind: "session", id: decoded(ofUri) };
  const { session_id: session, run_id: run, handle } = fieldsOf(given);
  for (const id of [run, handle]) {
    if (typeof id !== "string") continue;
    const gateway = taggedGateway(id);
    return gateway === undefined ? nothingNamed : { kind: "gateway", id: gateway };
  }
  if (session === "new") return nothingNamed;
  return typeof session === "string" ? { kind: "session", id: session } : { kind: "default-session" };
}

function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
