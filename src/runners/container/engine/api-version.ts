import { z } from "zod";
import type { EngineAddress } from "./engine-address.ts";
import { parseAnswer } from "./engine-answer.ts";
import { EngineClient, EngineRefusal } from "./engine-client.ts";

const versionSchema = z.object({ MinAPIVersion: z.string().regex(/^\d+\.\d+$/) });

/**
 * The engine's description of itself, and a client with an API version that the engine supports. The version is the oldest
 * that codecell supports or, if the engine is too new for it (Docker 29), the engine's oldest. Newer versions are not used,
 * because their requests may mean something else.
 */
export async function negotiateVersion(
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
  return parseAnswer(client, versionSchema, answer, "the API versions that it supports").MinAPIVersion;
}
