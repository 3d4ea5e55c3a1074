import { expect, test } from "vitest";
import { CodecellError, type CodecellErrorCode } from "../../../lib/errors.ts";
import type { Session } from "../../../sessions/session.ts";
import { bringBack } from "./bring-back.ts";

function session(code?: CodecellErrorCode): Session {
  const problem = code && new CodecellError(code, "it did not work");
  return { id: "work", wake: async () => {}, restored: { problem } } as unknown as Session;
}

test("a session continues without its variables only if no better save can be lost", async () => {
  for (const code of [undefined, "snapshot_damaged", "not_supported"] as const) await bringBack(session(code));
  await expect(bringBack(session("cell_lost"))).rejects.toMatchObject({
    code: "cell_lost",
    message: "session work could not be restored: it did not work",
  });
});
