import { z } from "zod";
import { parseAnswer } from "../engine/engine-answer.ts";
import { type EngineClient, EngineRefusal } from "../engine/engine-client.ts";

const versionLabel = "codecell.image.version";
const baseLabel = "codecell.image.base";

/** An image in an engine. */
export interface FoundImage {
  /** the requested name */
  readonly name: string;
  readonly id: string;
  readonly tags: readonly string[];
  /** hash of the Dockerfile; undefined: not built by codecell */
  readonly version: string | undefined;
  readonly base: string | undefined;
  readonly createdMs: number;
  readonly bytes: number;
}

/** Labels that identify an image of codecell under any name. */
export function imageLabels(version: string, base: string): Record<string, string> {
  return { [versionLabel]: version, [baseLabel]: base };
}

const inspectedSchema = z.object({
  Id: z.string(),
  RepoTags: z.array(z.string()).nullish(),
  Created: z.string(),
  Size: z.number(),
  Config: z.object({ Labels: z.record(z.string(), z.string()).nullish() }).nullish(),
});

/** The image with this name, or undefined if the engine has none. */
export async function findImage(client: EngineClient, name: string): Promise<FoundImage | undefined> {
  try {
    const image = inspectedSchema.parse(await client.json({ path: `/images/${name}/json` }));
    const labels = image.Config?.Labels ?? {};
    return { name, ...facts(image, labels), createdMs: Date.parse(image.Created), bytes: image.Size };
  } catch (error) {
    if (error instanceof EngineRefusal && error.status === 404) return undefined;
    throw error;
  }
}

const idMs = 5_000;

/** An image that cells are started in. */
export interface ImageInEngine {
  readonly name: string;
  /** containers use the id, because the name may point to another image a moment later */
  readonly id: string;
  /** directories that the image declares as volumes, as it spells them */
  readonly volumes: readonly string[];
}

const meantSchema = z.object({
  Id: z.string().min(1),
  Config: z.object({ Volumes: z.record(z.string(), z.unknown()).nullish() }).nullish(),
});

/** The image that a name points to now; undefined if the engine has no such image. */
export async function imageInEngine(client: EngineClient, name: string): Promise<ImageInEngine | undefined> {
  try {
    const path = `/images/${encodeURIComponent(name)}/json`;
    const answer = await client.json({ path, timeoutMs: idMs });
    const { Id: id, Config } = parseAnswer(client, meantSchema, answer, "an image");
    return { name, id, volumes: Object.keys(Config?.Volumes ?? {}) };
  } catch (error) {
    if (error instanceof EngineRefusal && error.status === 404) return undefined;
    throw error;
  }
}

const listedSchema = z.array(
  z.object({
    Id: z.string(),
    RepoTags: z.array(z.string()).nullish(),
    Created: z.number(),
    Size: z.number(),
    Labels: z.record(z.string(), z.string()).nullish(),
  }),
);

/** Every image of codecell, newest first. */
export async function listImages(client: EngineClient): Promise<FoundImage[]> {
  const query = { filters: JSON.stringify({ label: [versionLabel] }) };
  const images = listedSchema.parse(await client.json({ path: "/images/json", query }));
  return images
    .map((image) => {
      const found = facts(image, image.Labels ?? {});
      return { name: found.tags[0] ?? found.id, ...found, createdMs: image.Created * 1000, bytes: image.Size };
    })
    .sort((one, other) => other.createdMs - one.createdMs);
}

/** Gives an image another name. */
export async function tagImage(client: EngineClient, id: string, repo: string, tag: string): Promise<void> {
  await client.bytes({ method: "POST", path: `/images/${id}/tag`, query: { repo, tag } });
}

function facts(image: { Id: string; RepoTags?: string[] | null | undefined }, labels: Record<string, string>) {
  const tags = (image.RepoTags ?? []).filter((tag) => !tag.startsWith("<none>")).map(withoutDefaultHost);
  return { id: image.Id, tags, version: labels[versionLabel], base: labels[baseLabel] };
}

/** Podman includes the default host in names, and Docker does not. */
function withoutDefaultHost(tag: string): string {
  return tag.replace(/^(?:docker\.io\/library|localhost)\//, "");
}
