import { z } from "zod";
import { type EngineClient, EngineRefusal } from "./engine-client.ts";

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

/** What an image's name means now; undefined: the engine has no such image. */
export async function imageId(client: EngineClient, name: string): Promise<string | undefined> {
  try {
    const path = `/images/${encodeURIComponent(name)}/json`;
    return (await client.json<{ Id?: string }>({ path, timeoutMs: idMs })).Id;
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
