import { createHash } from "node:crypto";
import { CodecellError } from "../../lib/errors.ts";
import { shownId, splitKey } from "../../sessions/session-id.ts";
import type { GatewayDirectory, KnownRunKey } from "../../store/gateway-directory.ts";
import { otherRequest } from "../runs/started-once.ts";

/** A request with an idempotency key. */
export interface KeyedRequest {
  /** full id of its session */
  readonly sessionKey: string;
  readonly key: string;
  /** the request as a text: another text with the same key is another request */
  readonly described: string;
}

/**
 * Starts a run, unless a gateway has started one for this key: this one before it forgot the key, or another one that had the
 * session before. The key is stored before the code runs, so code whose gateway is lost is never run again by itself.
 */
export async function startOnce<Started>(
  directory: GatewayDirectory,
  gateway: string,
  { sessionKey, key, described }: KeyedRequest,
  start: () => Promise<Started>,
): Promise<Started> {
  const { namespace = "" } = splitKey(sessionKey);
  const claim = { gateway, sessionKey, namespace, key: sha256(key), request: sha256(described) };
  const claimed = await directory.claimRunKey(claim);
  if (claimed === "not_owner") throw movedAway(sessionKey);
  if (claimed !== "claimed")
    throw claimed.request === claim.request ? outcomeUnknown(claimed, gateway) : otherRequest();
  try {
    return await start();
  } catch (error) {
    // Nothing ran. If the key cannot be given back, a repetition is told that the outcome is not known, which is safe.
    await directory.releaseRunKey(claim).catch(() => {});
    throw error;
  }
}

function outcomeUnknown({ gateway, startedMs }: KnownRunKey, me: string): CodecellError {
  const at = new Date(startedMs).toISOString();
  const by =
    gateway === me ? "this gateway, which no longer has its result" : `gateway ${gateway}, which had the session`;
  return new CodecellError("run_gone", `the run of this Idempotency-Key was started at ${at} by ${by}`, {
    hint: "it may have run, in part or as a whole: look at the variables, the files and GET …/history, and use a new key to run the code again",
  });
}

function movedAway(sessionKey: string): CodecellError {
  return new CodecellError("session_busy", `session ${shownId(sessionKey)} moved to another gateway; nothing was run`, {
    hint: "try again",
    details: { reason: "lost_ownership" },
  });
}

function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}
