import type { ArtifactLink } from "../tools/tool.ts";

export const artifactTemplate = "codecell://sessions/{session}/artifacts/{name}";

/** The name may hold slashes; they are encoded, so that the template's one segment holds it. */
export function artifactUri(sessionId: string, name: string): string {
  return `codecell://sessions/${encodeURIComponent(sessionId)}/artifacts/${encodeURIComponent(name)}`;
}

export function artifactLink(
  sessionId: string,
  { name, mimeType, size }: { name: string; mimeType: string; size: number },
): ArtifactLink {
  const description = `made in session ${sessionId}; read_artifact reads it`;
  return { type: "resource_link", uri: artifactUri(sessionId, name), name, mimeType, size, description };
}
