import { z } from "zod";
import type { EngineAddress } from "./engine-address.ts";
import { understood } from "./engine-answer.ts";
import { EngineClient, EngineRefusal } from "./engine-client.ts";

const versionSchema = z.object({ MinAPIVersion: z.string().regex(/^\d+\.\d+$/) });

/**
 * What an engine says of itself, and a client that speaks a version which it takes: the oldest of ours, or where the engine is
 * too new for that (Docker 29), the oldest of its own. Newer ones are not spoken: they may mean something else by our words.
 */
export async function introduce(
  address: EngineAddress,
  timeoutMs: number,
): Promise<{ readonly client: EngineClient; readonly info: unknown }> {
  const info = (client: EngineClient) => client.json({ path: "/info", timeoutMs });
  const client = new EngineClient(address);
  try {
    return { client, info: await info(client) };
  } catch (error) {
    if (!(error instanceof EngineRefusal) || error.status !== 400) throw error;
    const newer = new EngineClient(address, await oldestVersion(address, timeoutMs));
    return { client: newer, info: await info(newer) };
  }
}

async function oldestVersion(address: EngineAddress, timeoutMs: number): Promise<string> {
  const client = new EngineClient(address, "");
  const answer = await client.json({ path: "/version", timeoutMs });
  return understood(client, versionSchema, answer, "which versions of the API it takes").MinAPIVersion;
}
