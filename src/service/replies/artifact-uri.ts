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

/** A path in one line. A program can put a line end into a name. */
export function shownName(name: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters it looks for
  return /[\u0000-\u001f\u007f]/.test(name) ? JSON.stringify(name) : name;
}
