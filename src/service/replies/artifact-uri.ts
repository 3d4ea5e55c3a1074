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
  const description = `file of session ${sessionId}; read it with read_artifact`;
  return { type: "resource_link", uri: artifactUri(sessionId, name), name, mimeType, size, description };
}
