import { CodecellError, messageOf } from "../../lib/errors.ts";
import { EngineRefusal } from "./engine-client.ts";

const noSpace = /no space left on device|ENOSPC|disk quota exceeded|EDQUOT/i;

/** Pure: whatever went wrong while a container was made, as an error with a code and something to do about it. */
export function startFailure(error: unknown, engine: string): CodecellError {
  if (error instanceof CodecellError && !(noSpace.test(error.message) && error.code === "cell_start_failed")) {
    return error;
  }
  const isEngines =
    error instanceof EngineRefusal || (error instanceof CodecellError && error.cause instanceof EngineRefusal);
  const text = messageOf(error);
  if (noSpace.test(text)) {
    const where = isEngines ? `where ${engine} keeps its containers` : "where codecell keeps its files";
    const hint = isEngines
      ? "free some, for example with `docker system prune`"
      : "free some, or name another directory";
    return new CodecellError("cell_start_failed", `there is no space left ${where}: ${text}`, { hint, cause: error });
  }
  if (error instanceof EngineRefusal) {
    const hint = "run `codecell doctor`, and look into the engine's own log";
    return new CodecellError("cell_start_failed", `${engine} refused: ${text}`, { hint, cause: error });
  }
  return new CodecellError("cell_start_failed", `the container could not be made: ${text}`, { cause: error });
}
