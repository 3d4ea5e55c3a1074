import { CodecellError } from "../../lib/errors.ts";

const attempts = 3;

/** The proxy's process exited before it answered. It is restarted, so another attempt usually succeeds. */
export class ProxyExited extends CodecellError {
  constructor() {
    super("cell_start_failed", "the egress proxy exited while a session was opened", {
      hint: "try again; if it happens again, something on this machine kills the proxy: check its memory and its limits",
    });
  }
}

/** Asks again if the proxy exits before it answers: it was killed, and its successor can answer. */
export async function despiteExits<Answer>(ask: () => Promise<Answer>): Promise<Answer> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await ask();
    } catch (error) {
      if (!(error instanceof ProxyExited) || attempt === attempts) throw error;
    }
  }
}
