import type { WireFile } from "../../../../../src/service/wire/file.ts";
import { call, type SessionRef } from "../../../api/client.ts";
import { type PrettyJson, prettyJson } from "../../../parts/text/pretty-json.ts";
import { filePath } from "../file-path.ts";
import { parseTable, type Table } from "./csv.ts";
import { fileKind, hexDump, textOf } from "./file-kind.ts";
import { type NotebookView, parseNotebook } from "./notebook.ts";

/** What is shown of a file. */
export type Preview =
  | { readonly kind: "empty" }
  | { readonly kind: "image"; readonly blob: Blob }
  | { readonly kind: "table"; readonly table: Table }
  | { readonly kind: "json"; readonly json: PrettyJson }
  | { readonly kind: "notebook"; readonly notebook: NotebookView }
  | { readonly kind: "text"; readonly text: string; readonly isCut: boolean }
  | { readonly kind: "binary"; readonly hex: string }
  | { readonly kind: "large"; readonly what: string; readonly maxBytes: number };

const headBytes = 256 * 1024;
const most = { image: 16 * 1024 * 1024, json: 1024 * 1024, notebook: 8 * 1024 * 1024 };

/** Reads the beginning of a file, and the whole of it only where a part cannot be shown. */
export async function loadPreview(session: SessionRef, file: WireFile, signal: AbortSignal): Promise<Preview> {
  if (file.size === 0) return { kind: "empty" };
  const head = await bytesOf(session, file.name, headBytes, signal);
  const isCut = head.byteLength < file.size;
  const whole = async (kind: keyof typeof most) => {
    if (!isCut) return head;
    return file.size > most[kind] ? undefined : await bytesOf(session, file.name, most[kind], signal);
  };
  const plain = (): Preview => ({ kind: "text", text: textOf(head) ?? "", isCut });
  const kind = fileKind(file.name, head);
  switch (kind.kind) {
    case "empty":
      return kind;
    case "binary":
      return { kind: "binary", hex: hexDump(head) };
    case "image": {
      const bytes = await whole("image");
      if (!bytes) return { kind: "large", what: "image", maxBytes: most.image };
      return { kind: "image", blob: new Blob([bytes], { type: kind.type }) };
    }
    case "table":
      return { kind: "table", table: parseTable(textOf(head) ?? "", kind.separator, isCut) };
    case "json": {
      const bytes = await whole("json");
      const json = bytes && prettyJson(textOf(bytes) ?? "");
      return json ? { kind: "json", json } : plain();
    }
    case "notebook": {
      const bytes = await whole("notebook");
      const notebook = bytes && parseNotebook(textOf(bytes) ?? "");
      return notebook ? { kind: "notebook", notebook } : plain();
    }
    case "text":
      return plain();
  }
}

async function bytesOf(session: SessionRef, name: string, count: number, signal: AbortSignal) {
  const headers = { range: `bytes=0-${count - 1}` };
  const response = await call(filePath(session, name), { headers, signal });
  return new Uint8Array(await response.arrayBuffer());
}
