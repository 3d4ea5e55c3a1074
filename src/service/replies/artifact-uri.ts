import { markImitations } from "../output/mark-imitations.ts";
import type { ArtifactLink } from "../tools/tool.ts";

export const artifactTemplate = "codecell://sessions/{session}/artifacts/{name}";

/** Slashes in the name are encoded because the template has one segment for it. */
export function artifactUri(sessionId: string, name: string): string {
  return `codecell://sessions/${encodeURIComponent(sessionId)}/artifacts/${encodeURIComponent(name)}`;
}

export function artifactLink(
  sessionId: string,
  { name, mimeType, size }: { name: string; mimeType: string; size: number },
): ArtifactLink {
  return { type: "resource_link", uri: artifactUri(sessionId, name), name, mimeType, size };
}

/** A path in one line. A program can put a line end, a sentence or one of our headings into a name. */
export function shownName(name: string): string {
  const isPlain = !/[\s\p{Cc}\p{Cf}]/u.test(name) && markImitations(name) === name;
  return isPlain ? name : JSON.stringify(name).replace(/[\p{Cf}\p{Zl}\p{Zp}]/gu, "\ufffd");
}
