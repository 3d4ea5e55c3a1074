import { StringDecoder } from "node:string_decoder";
import { z } from "zod";
import type { GuestReport } from "./guest/report.ts";

const maxTextCharacters = 8192;
/** A report has at most 1000 characters, of which each may take six in JSON. */
const maxLineCharacters = 8192;

const reportSchema: z.ZodType<GuestReport> = z.object({
  report: z.literal("snapshot_refused"),
  reason: z.string(),
});

/** Reads the guest's standard error: reports for the runner, and text for people. */
export class GuestLog {
  readonly #onReport: (report: GuestReport) => void;
  readonly #decoder = new StringDecoder();
  #text = "";
  #line = "";

  constructor(onReport: (report: GuestReport) => void) {
    this.#onReport = onReport;
  }

  /** The beginning of what was written. */
  get text(): string {
    return this.#text;
  }

  push(chunk: Buffer): void {
    const added = this.#decoder.write(chunk);
    this.#text += added.slice(0, Math.max(0, maxTextCharacters - this.#text.length));
    const lines = `${this.#line}${added}`.split("\n");
    this.#line = (lines.pop() ?? "").slice(0, maxLineCharacters);
    for (const line of lines) {
      const report = parseReport(line);
      if (report) this.#onReport(report);
    }
  }
}

/** A process that crashes writes lines of its own, which are no reports. */
function parseReport(line: string): GuestReport | undefined {
  if (!line.startsWith("{")) return undefined;
  try {
    return reportSchema.safeParse(JSON.parse(line)).data;
  } catch {
    return undefined;
  }
}
