import { CodecellError, messageOf } from "../../../lib/errors.ts";
import { EngineRefusal } from "../engine/engine-client.ts";

const noSpace = /no space left on device|ENOSPC|disk quota exceeded|EDQUOT/i;
/** Docker's words and Podman's for a directory of ours that is not there where the engine looks. */
const notSeen = /bind source path does not exist|statfs \S+: no such file or directory/i;
const noProgram = /executable file not found|no such file or directory/i;

/** Pure: whatever went wrong while a container was made, as an error with a code and something to do about it. */
export function startFailure(error: unknown, engine: string): CodecellError {
  if (error instanceof CodecellError) return error;
  const text = messageOf(error);
  const isEngines = error instanceof EngineRefusal;
  const failure = (message: string, hint: string) =>
    new CodecellError("cell_start_failed", `${message}: ${text}`, { hint, cause: error });
  if (noSpace.test(text)) {
    return isEngines
      ? failure(`no space is left where ${engine} stores containers`, "free some space: docker system prune")
      : failure("no space is left where codecell stores files", "free some space, or choose another directory");
  }
  if (!isEngines) return failure("the container could not be created", "run `codecell doctor`");
  const { hint, isImages } = refusal(error);
  return new CodecellError("cell_start_failed", `${engine} refused: ${text}`, {
    ...{ hint, cause: error, details: { isRefusal: !isImages } },
  });
}

/** What to do about it, and whether it is the image that does not fit: then the engine may be right for another one. */
function refusal({ status, message }: EngineRefusal): { hint: string; isImages: boolean } {
  if (notSeen.test(message)) {
    const hint =
      "the engine does not see this machine's files: use one that runs here, or set XDG_RUNTIME_DIR and XDG_STATE_HOME to directories that it shares";
    return { hint, isImages: false };
  }
  if (status === 404 && /image/i.test(message))
    return { hint: "run `codecell image build`, or pull the image that kernel.image names", isImages: true };
  if (noProgram.test(message)) return { hint: "set kernel.image to an image with Python 3.9 or newer", isImages: true };
  return { hint: "run `codecell doctor`, and look into the engine's own log", isImages: false };
}
