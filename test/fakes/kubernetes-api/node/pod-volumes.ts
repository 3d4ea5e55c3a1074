import { chmod, mkdir, realpath, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { V1ConfigMap, V1Container, V1Pod, V1Volume } from "@kubernetes/client-node";
import { parseQuantity } from "./quantity.ts";

/** A mount of a container. */
export type PodMount =
  | { readonly kind: "memory"; readonly target: string; readonly sizeBytes: number; readonly isReadOnly: boolean }
  | { readonly kind: "bind"; readonly target: string; readonly source: string; readonly isReadOnly: boolean };

/** A volume without a size may fill half of the machine; here it may fill this. */
const defaultSizeBytes = 256 * 2 ** 20;

/** Why a container cannot have its volumes: it waits in ContainerCreating. */
export class MissingVolume extends Error {}

/** Makes the files of a pod's volumes below `directory`, and says what to mount for one container. */
export async function prepareMounts(
  pod: V1Pod,
  container: V1Container,
  directory: string,
  findConfigMap: (name: string) => V1ConfigMap | undefined,
): Promise<readonly PodMount[]> {
  const mounts: PodMount[] = [];
  for (const { name, mountPath, readOnly = false, subPath } of container.volumeMounts ?? []) {
    const volume = pod.spec?.volumes?.find((one) => one.name === name);
    if (volume === undefined) throw new MissingVolume(`volume ${name} is not there`);
    if (volume.emptyDir !== undefined) {
      if (subPath !== undefined) throw new MissingVolume("the double has no subPath of an emptyDir");
      const sizeBytes = parseQuantity(volume.emptyDir.sizeLimit) ?? defaultSizeBytes;
      mounts.push({ kind: "memory", target: mountPath, sizeBytes, isReadOnly: readOnly });
      continue;
    }
    const source = join(directory, "volumes", name);
    await writeFiles(source, filesOf(pod, volume, findConfigMap));
    // a kubelet mounts the file itself, not the link to it
    const from = subPath === undefined ? source : join(source, "..data", subPath);
    mounts.push({ kind: "bind", target: mountPath, isReadOnly: true, source: await realpath(from) });
  }
  return mounts.sort((a, b) => a.target.length - b.target.length); // outer mounts first
}

interface VolumeFile {
  readonly path: string;
  readonly mode: number;
  readonly content: Buffer;
}

function filesOf(pod: V1Pod, volume: V1Volume, find: (name: string) => V1ConfigMap | undefined): readonly VolumeFile[] {
  const { name, configMap, downwardAPI, ...other } = volume;
  if (downwardAPI !== undefined) {
    return (downwardAPI.items ?? []).map(({ path, mode, fieldRef }) => ({
      ...{ path, mode: mode ?? downwardAPI.defaultMode ?? 0o644 },
      content: Buffer.from(fieldOf(pod, fieldRef?.fieldPath ?? "")),
    }));
  }
  if (configMap === undefined)
    throw new MissingVolume(`the double has no ${Object.keys(other).join(", ")} volumes (${name})`);
  const found = find(configMap.name ?? "");
  if (found === undefined) {
    if (configMap.optional) return [];
    throw new MissingVolume(`MountVolume.SetUp failed for volume "${name}" : configmap "${configMap.name}" not found`);
  }
  const values = new Map<string, Buffer>();
  for (const [key, value] of Object.entries(found.data ?? {})) values.set(key, Buffer.from(value));
  for (const [key, value] of Object.entries(found.binaryData ?? {})) values.set(key, Buffer.from(value, "base64"));
  const items = configMap.items ?? [...values.keys()].map((key) => ({ key, path: key, mode: undefined }));
  return items.map(({ key, path, mode }) => {
    const content = values.get(key);
    if (content === undefined) throw new MissingVolume(`configmap references non-existent config key: ${key}`);
    return { path, content, mode: mode ?? configMap.defaultMode ?? 0o644 };
  });
}

/** A field that the downward API shows, such as `metadata.annotations['name']`. */
function fieldOf({ metadata }: V1Pod, path: string): string {
  const [, map, key = ""] = /^metadata\.(labels|annotations)\['(.+)'\]$/.exec(path) ?? [];
  if (map !== undefined) return (map === "labels" ? metadata?.labels : metadata?.annotations)?.[key] ?? "";
  return path === "metadata.name" ? (metadata?.name ?? "") : path === "metadata.uid" ? (metadata?.uid ?? "") : "";
}

/** Files are links through `..data`, as a kubelet writes them. */
async function writeFiles(directory: string, files: readonly VolumeFile[]): Promise<void> {
  const data = join(directory, "..2026_data");
  await mkdir(data, { recursive: true });
  await symlink("..2026_data", join(directory, "..data")).catch(ignoreExisting);
  for (const { path, mode, content } of files) {
    await mkdir(dirname(join(data, path)), { recursive: true });
    await writeFile(join(data, path), content);
    await chmod(join(data, path), mode);
    const [top = path] = path.split("/");
    await symlink(join("..data", top), join(directory, top)).catch(ignoreExisting);
  }
  for (const one of [data, directory]) await chmod(one, 0o755);
}

/** The same volume can be mounted twice. */
function ignoreExisting(error: NodeJS.ErrnoException): void {
  if (error.code !== "EEXIST") throw error;
}
