import type { Artifact } from "../../artifacts/artifact.ts";
import { checkArtifactName } from "../../artifacts/artifact-name.ts";
import type { HashCache } from "../../artifacts/hash-cache.ts";
import { CodecellError } from "../../lib/errors.ts";
import type { Session } from "../../sessions/session.ts";

export { describeArtifacts } from "../../artifacts/artifacts.ts";

/** One file of a session with the digest of its current content. Throws `file_refused` if the file may not be served. */
export async function describeFile(
  session: Session,
  path: string,
  options: { readonly cache: HashCache; readonly signal: AbortSignal },
): Promise<Artifact> {
  const facts = await (await session.files()).stat(checkArtifactName(path));
  const { artifacts, leftOut } = await session.describe([facts], options);
  const [artifact] = artifacts;
  if (artifact) return artifact;
  throw new CodecellError("file_refused", leftOut[0]?.message ?? "the file cannot be served");
}
