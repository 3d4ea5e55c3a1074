import { encodeTime } from "../../../service/wire/timestamp.ts";
import type { FoundImage } from "../../../sessions/container-images.ts";
import { formatAge } from "./text/format-age.ts";
import { formatBytes } from "./text/format-bytes.ts";
import { safeText } from "./text/safe-text.ts";
import { tableLines } from "./text/table.ts";

export function imageJson({ name, id, tags, version, base, createdMs, bytes }: FoundImage) {
  return {
    image: name,
    id,
    tags,
    version: version ?? null,
    base: base ?? null,
    created_at: encodeTime(createdMs),
    size: bytes,
  };
}

/** A table; a star marks the image that cells run in by default. */
export function imagesText(images: readonly FoundImage[], current: string, nowMs: number, width: number): string {
  if (images.length === 0) return "no images; build one with `codecell image build`\n";
  const rows = images.map(({ tags, id, base, createdMs, bytes }) => {
    const names = tags.map((tag) => (tag === current ? `${tag} *` : tag)).join(", ");
    return [formatBytes(bytes), formatAge(nowMs - createdMs), safeText(base ?? ""), safeText(names || id)];
  });
  return `${tableLines(["SIZE", "AGE", "BASE", "NAMES"], rows, width).join("\n")}\n`;
}
