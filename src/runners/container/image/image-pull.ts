import { type EngineClient, EngineRefusal } from "../engine/engine-client.ts";
import { pullFailure } from "./image-failure.ts";
import { splitImageName } from "./image-name.ts";
import { followProgress, type OnProgress } from "./image-progress.ts";

/** If a registry does not answer, the engine waits for its own timeouts before it reports that. */
const firstAnswerMs = 180_000;

/** Pulls an image from its registry. */
export async function pullImage(
  client: EngineClient,
  image: string,
  options: { readonly onProgress: OnProgress; readonly signal?: AbortSignal },
): Promise<void> {
  options.onProgress({ type: "step", text: `pulling ${image}` });
  const { repository, tag } = splitImageName(image);
  const answer = await client
    .stream({
      method: "POST",
      path: "/images/create",
      query: { fromImage: repository, tag },
      timeoutMs: firstAnswerMs,
      ...(options.signal ? { signal: options.signal } : {}),
    })
    .catch((error: unknown) => {
      throw error instanceof EngineRefusal ? pullFailure(image, error.message) : error;
    });
  await followProgress(answer, options.onProgress, (text) => pullFailure(image, text));
}
