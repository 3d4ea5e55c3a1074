import type { CodecellError } from "../../../lib/errors.ts";

/** One question about a cluster, and its answer. */
export interface ClusterCheck {
  readonly name: CheckName;
  /** `missing`: cells cannot run. `warning`: they can. `unknown`: nobody looked, or may look. */
  readonly state: "ok" | "missing" | "warning" | "unknown";
  readonly finding: string;
  /** what to do about it */
  readonly fix?: string;
  /** the same for programs, such as numbers */
  readonly facts?: Readonly<Record<string, unknown>>;
}

export const checkNames = [
  ...(["api server", "rights", "other rights", "pods", "runtime class", "quota"] as const),
  ...(["gateways", "left behind", "agent-sandbox", "cells", "isolation", "network"] as const),
] as const;
export type CheckName = (typeof checkNames)[number];

/** What came of a cell that was started to see whether it works. */
export type CellTrial =
  | {
      readonly ran: true;
      /** until image and network were examined */
      readonly examinedMs: number;
      /** from then until the first result of a new cell */
      readonly firstResultMs: number;
      /** from its receipt: what separates it, and what keeps it off the network */
      readonly isolation: string;
      readonly network: string;
    }
  | { readonly ran: false; readonly reason: string; readonly hint: string | undefined };

export interface ClusterQuestion {
  readonly verb: "create" | "get" | "list";
  /** as RBAC names it */
  readonly resource: string;
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  readonly signal?: AbortSignal | undefined;
}

/** What the checks need of a connection to the API server. */
export interface ClusterQuestions {
  readonly namespace: string;
  json<Answer>(question: ClusterQuestion): Promise<Answer>;
  /** The error for people, with a hint. */
  explain(error: unknown, question: Pick<ClusterQuestion, "verb" | "resource">): CodecellError;
}

/** Pure: the status of an answer that says no; undefined: there was no answer. */
export function refusedStatus(error: unknown): number | undefined {
  const { status } = (error ?? {}) as { status?: unknown };
  return typeof status === "number" ? status : undefined;
}
