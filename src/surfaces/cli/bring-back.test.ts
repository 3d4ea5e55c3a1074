import { expect, test } from "vitest";
import { CodecellError, type CodecellErrorCode } from "../../lib/errors.ts";
import type { ManagedSession } from "../../sessions/managed-session.ts";
import { bringBack } from "./bring-back.ts";

function session(code?: CodecellErrorCode): ManagedSession {
  const problem = code && new CodecellError(code, "it did not work");
  return { id: "work", wake: async () => {}, restored: { problem } } as unknown as ManagedSession;
}

test("goes on without variables only where no better save can be lost", async () => {
  for (const code of [undefined, "snapshot_damaged", "not_supported"] as const) await bringBack(session(code));
  await expect(bringBack(session("cell_lost"))).rejects.toMatchObject({
    code: "cell_lost",
    message: "session work did not come back: it did not work",
  });
});
