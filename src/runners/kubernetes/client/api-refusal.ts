import { z } from "zod";
import { CodecellError, messageOf } from "../../../lib/errors.ts";

/** What was asked of the API server, for messages. */
export interface ApiVerb {
  readonly verb: "create" | "get" | "list" | "watch" | "update" | "delete";
  /** such as `pods` or `pods/attach` */
  readonly resource: string;
  readonly namespace?: string | undefined;
}

/** The API server answered, and said no. */
export class ApiRefusal extends Error {
  override readonly name = "ApiRefusal";
  readonly status: number;
  /** as the API names it, such as AlreadyExists */
  readonly reason: string;
  readonly retryAfterMs: number | undefined;

  constructor(status: number, reason: string, message: string, retryAfterMs?: number) {
    super(message);
    this.status = status;
    this.reason = reason;
    this.retryAfterMs = retryAfterMs;
  }
}

const statusSchema = z.object({
  reason: z.string().catch(""),
  message: z.string().catch(""),
  details: z
    .object({ retryAfterSeconds: z.number().optional().catch(undefined) })
    .nullish()
    .catch(undefined),
});

/** Pure: the refusal in an answer. A proxy in front of the API server answers with anything. */
export function refusalOf(status: number, body: string, retryAfter: string | undefined): ApiRefusal {
  const found = statusSchema.safeParse(parsed(body));
  const seconds = Number(retryAfter ?? (found.success ? found.data.details?.retryAfterSeconds : undefined));
  const retryAfterMs = seconds >= 0 ? seconds * 1000 : undefined;
  if (!found.success) return new ApiRefusal(status, "", body.slice(0, 300) || `status ${status}`, retryAfterMs);
  const { reason, message } = found.data;
  return new ApiRefusal(status, reason, message.slice(0, 1000) || `status ${status}`, retryAfterMs);
}

/** Pure: what a failed request means for whoever wants a cell, and what to do about it. */
export function explained(error: unknown, { verb, resource, namespace }: ApiVerb, server: string): CodecellError {
  if (error instanceof CodecellError) return error;
  const where = namespace === undefined ? "" : ` in the namespace ${namespace}`;
  if (!(error instanceof ApiRefusal)) {
    return new CodecellError("runner_unavailable", `the API server at ${server} does not answer: ${messageOf(error)}`, {
      hint: "check that the cluster runs and that the kubeconfig has its address",
      cause: error,
    });
  }
  const make = (code: "runner_unavailable" | "cell_start_failed", message: string, hint: string) =>
    new CodecellError(code, message, {
      hint,
      cause: error,
      details: {
        status: error.status,
        ...(error.retryAfterMs === undefined ? {} : { retryAfterMs: error.retryAfterMs }),
      },
    });
  switch (error.status) {
    case 401:
      return make(
        "runner_unavailable",
        "the cluster does not accept these credentials",
        "renew the token or the certificate of KUBECONFIG or of the service account",
      );
    case 403:
      return forbidden(error, make, `${verb} ${resource}${where}`, where);
    case 404:
      return error.message.includes("namespaces")
        ? make(
            "runner_unavailable",
            `the namespace ${namespace} does not exist`,
            `create it: \`kubectl create namespace ${namespace}\``,
          )
        : make(
            "runner_unavailable",
            `the cluster has no ${resource}: ${error.message}`,
            "check the version of the cluster",
          );
    case 409:
      return make("cell_start_failed", `${resource} changed at the same time: ${error.message}`, "try again");
    case 422:
      return make(
        "cell_start_failed",
        `the cluster rejects what codecell creates: ${error.message}`,
        "check the settings CODECELL_KUBERNETES_* and the limits of the policy",
      );
    case 429:
      return make(
        "runner_unavailable",
        "the API server has too many requests",
        `try again${error.retryAfterMs ? ` in ${Math.ceil(error.retryAfterMs / 1000)} s` : " later"}`,
      );
    default:
      return make(
        error.status >= 500 ? "runner_unavailable" : "cell_start_failed",
        `the API server refused to ${verb} ${resource}: ${error.message}`,
        "see the API server's log",
      );
  }
}

type Make = (code: "runner_unavailable" | "cell_start_failed", message: string, hint: string) => CodecellError;

/** A 403 is a missing right, a full quota or an admission rule: each has another fix. */
function forbidden({ message }: ApiRefusal, make: Make, what: string, where: string): CodecellError {
  if (/exceeded quota/i.test(message)) {
    const hint = "close sessions, or raise the ResourceQuota";
    return make("cell_start_failed", `the quota${where} is used up: ${message}`, hint);
  }
  // A refused upgrade has no body, so its message names no right.
  if (/cannot \w+ resource|Unexpected server response/.test(message)) {
    const hint = `grant this right in the Role of codecell's service account: ${what}`;
    return make("runner_unavailable", `codecell may not ${what}`, hint);
  }
  const hint = "allow what the message names; CODECELL_KUBERNETES_NETWORK=policy needs the least";
  return make("cell_start_failed", `the cluster's admission rules refuse the pod: ${message}`, hint);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
