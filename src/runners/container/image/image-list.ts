import { z } from "zod";
import { understood } from "../engine/engine-answer.ts";
import { type EngineClient, EngineRefusal } from "../engine/engine-client.ts";

const versionLabel = "codecell.image.version";
const baseLabel = "codecell.image.base";

/** An image in an engine. */
export interface FoundImage {
  /** as it was asked for */
  readonly name: string;
  readonly id: string;
  readonly tags: readonly string[];
  /** hash of the recipe; undefined: not one of ours */
  readonly version: string | undefined;
  readonly base: string | undefined;
  readonly createdMs: number;
  readonly bytes: number;
}

/** What an image of ours carries, so that it is known again under any name. */
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

/** The image of this name, or undefined where the engine has none. */
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

/** An image as cells are started in it. */
export interface ImageInEngine {
  readonly name: string;
  /** what the name meant: containers are made of this, for a name may mean something else a moment later */
  readonly id: string;
  /** directories that the image wants to keep data in, as it writes them */
  readonly volumes: readonly string[];
}

const meantSchema = z.object({
  Id: z.string().min(1),
  Config: z.object({ Volumes: z.record(z.string(), z.unknown()).nullish() }).nullish(),
});

/** What an image's name means now; undefined: the engine has no such image. */
export async function imageInEngine(client: EngineClient, name: string): Promise<ImageInEngine | undefined> {
  try {
    const path = `/images/${encodeURIComponent(name)}/json`;
    const answer = await client.json({ path, timeoutMs: idMs });
    const { Id: id, Config } = understood(client, meantSchema, answer, "an image");
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

/** Every image of ours, the newest first. */
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

/** Gives an image one more name. */
export async function tagImage(client: EngineClient, id: string, repo: string, tag: string): Promise<void> {
  await client.bytes({ method: "POST", path: `/images/${id}/tag`, query: { repo, tag } });
}

function facts(image: { Id: string; RepoTags?: string[] | null | undefined }, labels: Record<string, string>) {
  const tags = (image.RepoTags ?? []).filter((tag) => !tag.startsWith("<none>")).map(withoutDefaultHost);
  return { id: image.Id, tags, version: labels[versionLabel], base: labels[baseLabel] };
}

/** Podman writes out the host that Docker leaves out. */
function withoutDefaultHost(tag: string): string {
  return tag.replace(/^(?:docker\.io\/library|localhost)\//, "");
}
