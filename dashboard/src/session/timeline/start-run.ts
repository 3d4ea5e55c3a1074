import { asApiError } from "../../api/api-error.ts";
import { getJson, type SessionRef, sessionPath } from "../../api/client.ts";

const attempts = 5;
const retryMs = 500;

/** Starts a run. If the answer is lost on its way, the request is sent again; its key makes sure that the code runs once. */
export async function startRun(
  session: SessionRef,
  code: string,
  language: string,
  signal: AbortSignal,
): Promise<{ readonly run_id: string }> {
  const random = crypto.getRandomValues(new Uint8Array(16));
  const key = Array.from(random, (byte) => byte.toString(16).padStart(2, "0")).join("");
  for (let attempt = 1; ; attempt++) {
    try {
      return await getJson(sessionPath(session, "/runs"), {
        method: "POST",
        json: { code, language, stdin_stream: true, wait: 0 },
        headers: { "idempotency-key": key },
        signal,
      });
    } catch (thrown) {
      const { status } = asApiError(thrown);
      if (signal.aborted || status !== 0 || attempt === attempts) throw thrown;
    }
    await new Promise((resolve) => setTimeout(resolve, retryMs));
  }
}
