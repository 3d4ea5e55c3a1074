import type { IncomingMessage } from "node:http";
import { z } from "zod";
import { CodecellError } from "../../lib/errors.ts";
import type { Tenant } from "../../service/tenants/tenant.ts";
import type { TokenRecord } from "../../service/tenants/token-record.ts";
import type { AdmittedCaller } from "./gate.ts";
import { bodyOf, readJson } from "./read-json.ts";
import type { Call, Route } from "./route.ts";
import type { HttpService } from "./service.ts";

type AnyCall = Call<Record<string, unknown>, Record<string, unknown>, Record<string, unknown>>;

export interface CallParts {
  readonly params: Readonly<Record<string, string>>;
  readonly search: string;
  readonly request: IncomingMessage;
  /** aborted when the client disconnects */
  readonly gone: () => AbortSignal;
  readonly service: HttpService;
  /** undefined if the route needs no token */
  readonly caller: AdmittedCaller<Tenant> | undefined;
}

const nothing = z.strictObject({});
const noBytes = new Uint8Array(0);

/** Validates a request with the schemas of its route. */
export async function callOf(route: Route, parts: CallParts): Promise<AnyCall> {
  const { request, gone, service, caller, search } = parts;
  const isRaw = route.takesBytes !== undefined || route.takesJsonBytes === true;
  const body = isRaw || !route.body ? {} : await readJson(request, service.limits, caller?.bodies);
  const bytes =
    route.takesBytes === "whole" || route.takesJsonBytes
      ? await bodyOf(request, service.limits, caller?.bodies)
      : noBytes;
  const query = search === "" ? {} : Object.fromEntries(new URLSearchParams(search));
  return {
    ...{ request, bytes, service, tenant: caller?.tenant as Tenant, scopes: caller?.token.scopes ?? [] },
    token: caller?.token as TokenRecord,
    memory: caller?.memory,
    get signal() {
      return gone();
    },
    params: validated(route.params, parts.params, "path"),
    query: validated(route.query ?? (search === "" ? undefined : nothing), query, "query"),
    body: isRaw ? {} : validated(route.body, body, "body"),
  };
}

function validated(schema: z.ZodObject | undefined, value: unknown, where: string): Record<string, unknown> {
  if (!schema) return {};
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  throw new CodecellError("usage", `the ${where} is invalid: ${z.prettifyError(parsed.error)}`, {
    hint: "/v1/openapi.json describes every call",
  });
}
