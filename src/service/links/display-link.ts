import { createHash } from "node:crypto";
import { z } from "zod";
import { signClaim, signedClaim } from "../../artifacts/signed-claim.ts";
import { CodecellError } from "../../lib/errors.ts";
import type { Session } from "../../sessions/session.ts";

/** The forms of a display that have links. Others run no code, so clients show them from the history. */
export const displayTypes = ["text/html", "image/svg+xml"] as const;
export type DisplayType = (typeof displayTypes)[number];

/** What a link shows: one form of one displayed value of a run, with this content, until a time. */
export interface DisplayClaim {
  /** full id with the tenant's namespace */
  readonly session: string;
  readonly run: number;
  readonly display: number;
  readonly mimeType: DisplayType;
  /** of the content: a later session with the same id has other displays */
  readonly sha256: string;
  readonly expiresMs: number;
}

export type DisplayCheck =
  | { readonly status: "valid"; readonly claim: DisplayClaim }
  | { readonly status: "expired" | "forged" };

const purpose = "codecell display link";
const claimSchema = z.tuple([
  z.literal(1),
  z.string(),
  z.int(),
  z.int(),
  z.enum(displayTypes),
  z.string().regex(/^[0-9a-f]{64}$/),
  z.int(),
]);

export function signDisplay(key: Uint8Array, claim: DisplayClaim): string {
  const { session, run, display, mimeType, sha256, expiresMs } = claim;
  const parts: z.input<typeof claimSchema> = [1, session, run, display, mimeType, sha256, expiresMs];
  return signClaim(key, purpose, parts);
}

export function checkDisplay(key: Uint8Array, text: string, nowMs: number): DisplayCheck {
  const parts = claimSchema.safeParse(signedClaim(key, purpose, text));
  if (!parts.success) return { status: "forged" };
  const [, session, run, display, mimeType, sha256, expiresMs] = parts.data;
  if (expiresMs <= nowMs) return { status: "expired" };
  return { status: "valid", claim: { session, run, display, mimeType, sha256, expiresMs } };
}

/** Larger pages are not sent: a browser would take minutes to show them. */
const maxBytes = 4 * 1024 * 1024;
/** As far back as the history goes. */
const maxRuns = 1_000;

/** The content of a display, from the history of its session. Starts no cell. */
export async function displayContent(
  session: Session,
  { run, display, mimeType }: Pick<DisplayClaim, "run" | "display" | "mimeType">,
): Promise<{ data: Uint8Array; sha256: string }> {
  const limit = Math.min(maxRuns, Math.max(1, session.info.runs - run + 1));
  const entry = (await session.history({ limit, outputs: true })).find((one) => one.run === run);
  const found = entry?.outputs?.events.find(
    (event) => event.type === "display" && event.display === display && event.mime === mimeType,
  );
  if (found?.type !== "display") {
    throw new CodecellError("output_gone", `run ${run} has no display ${display} of type ${mimeType}`, {
      hint: "…/history?outputs=true lists the displays that are kept; the run must have ended",
    });
  }
  if (found.data.byteLength > maxBytes) {
    throw new CodecellError("too_large", `the display has ${found.data.byteLength} bytes, the limit is ${maxBytes}`, {
      hint: "write it to a file and download that",
    });
  }
  return { data: found.data, sha256: createHash("sha256").update(found.data).digest("hex") };
}
