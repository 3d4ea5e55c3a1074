import type { WireHistoryEntry } from "../../../../src/service/wire/sessions/history.ts";
import { AnsiText, lineText } from "../../parts/text/ansi.ts";

/** What a run printed in one go: consecutive output of one stream. */
export interface TextBlock {
  readonly kind: "text";
  readonly stream: "stdout" | "stderr";
  readonly text: AnsiText;
}

/** A displayed value in its forms: from MIME type to base64; null: not in the answer, because it is too large. */
export interface DisplayBlock {
  readonly kind: "display";
  readonly display: number;
  readonly forms: Map<string, string | null>;
}

/** One piece of output, as the history and the events of a run have it. */
export type OutputEvent = NonNullable<WireHistoryEntry["outputs"]>["events"][number];

/** What a run printed and displayed, in order. */
export class RunOutputs {
  readonly blocks: (TextBlock | DisplayBlock)[] = [];

  add({ type, text, display, mime_type, data_base64 }: OutputEvent): void {
    if (type !== "display") this.#addText(type, text ?? "");
    else if (display !== null && mime_type !== null) this.#addDisplay(display, mime_type, data_base64);
  }

  #addDisplay(display: number, mimeType: string, base64: string | null): void {
    const last = this.blocks.at(-1);
    const isSame = last?.kind === "display" && last.display === display;
    if (isSame) last.forms.set(mimeType, base64);
    else this.blocks.push({ kind: "display", display, forms: new Map([[mimeType, base64]]) });
  }

  #addText(stream: TextBlock["stream"], text: string): void {
    const last = this.blocks.at(-1);
    const block = last?.kind === "text" && last.stream === stream ? last : this.#newText(stream);
    block.text.write(text);
  }

  #newText(stream: TextBlock["stream"]): TextBlock {
    const block: TextBlock = { kind: "text", stream, text: new AnsiText() };
    this.blocks.push(block);
    return block;
  }

  /** All that was printed, for the search. */
  get printed(): string {
    return this.blocks
      .map((block) => (block.kind === "text" ? block.text.lines.map(lineText).join("\n") : ""))
      .join("\n");
  }
}
