import { CodecellError, messageOf } from "../../../lib/errors.ts";
import { type EngineClient, EngineRefusal } from "../engine/engine-client.ts";
import { bootstrapDebian } from "./bootstrap-debian.ts";
import { defaultBase, imageRepository, imageVersion, readDockerfile } from "./default-image.ts";
import { imageContext } from "./image-context.ts";
import { buildFailure } from "./image-failure.ts";
import { type FoundImage, findImage, imageLabels, tagImage } from "./image-list.ts";
import { followProgress, type ImageProgress, type OnProgress } from "./image-progress.ts";
import { pullImage } from "./image-pull.ts";

/** Base images that can be created on this machine without a registry. */
export const bootstraps = ["debian"] as const;
export type Bootstrap = (typeof bootstraps)[number];
export const buildNetworks = ["default", "host", "none"] as const;
export type BuildNetwork = (typeof buildNetworks)[number];

export interface ImageBuildOptions {
  /** the image's name, instead of the versioned one and `latest` */
  readonly tag?: string;
  /** the base image */
  readonly base?: string;
  /** create the base image here instead of pulling it */
  readonly bootstrap?: Bootstrap;
  /** network of the build; default: the engine's bridge, or the host's network if there is no bridge */
  readonly network?: BuildNetwork;
  /** build even if the image exists, from a fresh base and without a cache, to get security updates */
  readonly force?: boolean;
  /** PATH and proxy variables for the programs that are started here */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly onProgress: OnProgress;
  readonly signal?: AbortSignal;
}

export interface BuiltImage extends FoundImage {
  readonly outcome: "built" | "already there";
}

const bootstrappedBase = "codecell-base:debian-bookworm";

/** Builds the default image in an engine. If the engine already has this version, it returns at once. */
export async function buildImage(client: EngineClient, options: ImageBuildOptions): Promise<BuiltImage> {
  const dockerfile = readDockerfile();
  // A bootstrapped base is the same distribution as the default base, so the image has the same version.
  const version = imageVersion(dockerfile, options.base ?? defaultBase);
  const name = options.tag ?? `${imageRepository}:${version}`;
  const there = await findImage(client, name);
  if (there?.version === version && !options.force) {
    await nameLatest(client, there, options);
    return { ...there, outcome: "already there" };
  }
  const base = await prepareBase(client, options);
  await runBuild(client, { dockerfile, base, version, name }, options);
  const built = await findImage(client, name);
  if (built === undefined)
    throw new CodecellError("image_failed", `${name} was built, but the engine does not have it`);
  await nameLatest(client, built, options);
  return { ...built, name, outcome: "built" };
}

async function nameLatest(client: EngineClient, { id }: FoundImage, { tag }: ImageBuildOptions): Promise<void> {
  if (tag === undefined) await tagImage(client, id, imageRepository, "latest");
}

async function prepareBase(client: EngineClient, options: ImageBuildOptions): Promise<string> {
  const base = options.bootstrap === undefined ? (options.base ?? defaultBase) : bootstrappedBase;
  if (!options.force && (await findImage(client, base)) !== undefined) return base;
  if (options.bootstrap === undefined) await pullBase(client, base, options);
  else await bootstrapDebian(client, base, options);
  return base;
}

/** With `force`, a base that cannot be pulled because it was created here is used as it is. */
async function pullBase(client: EngineClient, base: string, options: ImageBuildOptions): Promise<void> {
  try {
    await pullImage(client, base, options);
  } catch (error) {
    if (!options.force || (await findImage(client, base)) === undefined) throw error;
    options.onProgress({
      type: "step",
      text: `using the local copy of ${base}, because it could not be pulled: ${messageOf(error)}`,
    });
  }
}

interface Recipe {
  readonly dockerfile: string;
  readonly base: string;
  readonly version: string;
  readonly name: string;
}

const firstAnswerMs = 120_000;

async function runBuild(client: EngineClient, recipe: Recipe, options: ImageBuildOptions): Promise<void> {
  const network = options.network ?? (await chooseNetwork(client));
  const last: string[] = [];
  const answer = await client
    .stream({
      method: "POST",
      path: "/build",
      query: {
        t: recipe.name,
        buildargs: JSON.stringify({ BASE: recipe.base }),
        labels: JSON.stringify(imageLabels(recipe.version, recipe.base)),
        networkmode: network === "default" ? undefined : network,
        nocache: options.force ? true : undefined,
        rm: true,
        forcerm: true, // removes the containers of a failed build
      },
      body: imageContext("Dockerfile", recipe.dockerfile),
      bodyType: "application/x-tar",
      timeoutMs: firstAnswerMs,
      ...(options.signal ? { signal: options.signal } : {}),
    })
    .catch((error: unknown) => {
      throw error instanceof EngineRefusal ? buildFailure(error.message, last, network) : error;
    });
  const remember = (progress: ImageProgress) => {
    options.onProgress(progress);
    if (last.push(progress.text) > 200) last.shift();
  };
  await followProgress(answer, remember, (text) => buildFailure(text, last, network));
}

/** Without the bridge network of the Docker daemon, a build cannot download packages. */
async function chooseNetwork(client: EngineClient): Promise<BuildNetwork> {
  const networks = await client.json<{ Name?: string }[]>({ path: "/networks" });
  return networks.some(({ Name }) => Name === "bridge" || Name === "podman") ? "default" : "host";
}
