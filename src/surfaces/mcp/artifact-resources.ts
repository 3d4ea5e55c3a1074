import { type McpServer, ResourceNotFoundError, ResourceTemplate } from "@modelcontextprotocol/server";
import { CodecellError } from "../../lib/errors.ts";
import type { LazySandbox } from "../../service/lazy-sandbox.ts";
import { artifactTemplate, artifactUri } from "../../service/replies/artifact-uri.ts";

const maxListed = 500;
const maxPerSession = 100;

/** Files of live sessions as resources. Listing them starts nothing and restores no saved session. */
export function registerArtifactResources(server: McpServer, sandbox: LazySandbox): void {
  const template = new ResourceTemplate(artifactTemplate, {
    list: async () => ({ resources: await listed(sandbox) }),
    complete: { session: async (typed) => (await liveIds(sandbox)).filter((id) => id.startsWith(typed)).slice(0, 100) },
  });
  const about = {
    title: "File of a session",
    description: "A file that code wrote in a session, or that was uploaded",
  };
  server.registerResource("artifact", template, about, async (uri, variables) => {
    const session = decoded(variables.session);
    const name = decoded(variables.name);
    // Reading a resource must not start a cell, so only live sessions are found.
    if (session === undefined || name === undefined || !(await liveIds(sandbox)).includes(session)) {
      throw new ResourceNotFoundError(uri.href);
    }
    try {
      const { artifactContent, maxBinaryBytes } = await import("../../service/replies/artifact-content.ts");
      const files = await (await (await sandbox.open()).session(session)).files();
      const { mimeType, body, end, size } = await artifactContent(files, name, {}, maxBinaryBytes);
      if (end < size)
        throw new CodecellError("too_large", `${name} has ${size} bytes; read it in parts with read_artifact`);
      const about = { uri: uri.href, mimeType };
      if (body.as === "text") return { contents: [{ ...about, text: body.text }] };
      return { contents: [{ ...about, blob: Buffer.from(body.data).toString("base64") }] };
    } catch (error) {
      const isMissing = error instanceof CodecellError && ["file_missing", "file_refused"].includes(error.code);
      throw isMissing ? new ResourceNotFoundError(uri.href, error.message) : error;
    }
  });
}

async function listed(sandbox: LazySandbox) {
  const resources: { uri: string; name: string; size: number }[] = [];
  for (const id of await liveIds(sandbox)) {
    if (resources.length >= maxListed) break;
    // No files if the runner keeps none on the host, or if the session was closed in the meantime.
    const page = await sandbox
      .open()
      .then((opened) => opened.session(id))
      .then((session) => session.listFiles({ limit: Math.min(maxPerSession, maxListed - resources.length) }))
      .catch(() => undefined);
    for (const { path, size } of page?.files ?? []) resources.push({ uri: artifactUri(id, path), name: path, size });
  }
  return resources;
}

async function liveIds(sandbox: LazySandbox): Promise<string[]> {
  const sessions = (await sandbox.opened?.opened?.list()) ?? [];
  return sessions.filter(({ state }) => state === "live").map(({ id }) => id);
}

function decoded(value: string | string[] | undefined): string | undefined {
  if (typeof value !== "string") return undefined;
  try {
    return decodeURIComponent(value);
  } catch {
    return undefined;
  }
}
