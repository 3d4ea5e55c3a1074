import { CodecellError, messageOf } from "../../../lib/errors.ts";
import { EngineRefusal } from "../engine/engine-client.ts";

const noSpace = /no space left on device|ENOSPC|disk quota exceeded|EDQUOT/i;
/** The messages of Docker and Podman for a host directory that the engine does not see. */
const notSeen = /bind source path does not exist|statfs \S+: no such file or directory/i;
const noProgram = /executable file not found|no such file or directory/i;

/** Pure: any failure of creating a container, as an error with a code and a hint. */
export function startFailure(error: unknown, engine: string): CodecellError {
  if (error instanceof CodecellError) return error;
  const text = messageOf(error);
  const isEngines = error instanceof EngineRefusal;
  const failure = (message: string, hint: string) =>
    new CodecellError("cell_start_failed", `${message}: ${text}`, { hint, cause: error });
  if (noSpace.test(text)) {
    return isEngines
      ? failure(
          `no space is left where ${engine} stores containers`,
          `free some space: \`${engine === "Podman" ? "podman" : "docker"} system prune\``,
        )
      : failure(
          "no space is left where codecell stores files",
          "free some space, or choose another directory with --state-dir or XDG_STATE_HOME",
        );
  }
  if (!isEngines) return failure("the container could not be created", "run `codecell doctor`");
  const { hint, isImages } = refusal(error);
  return new CodecellError("cell_start_failed", `${engine} refused: ${text}`, {
    ...{ hint, cause: error, details: { isRefusal: !isImages } },
  });
}

/** The hint, and whether the cause is the image. If it is, the engine may still work with another image. */
function refusal({ status, message }: EngineRefusal): { hint: string; isImages: boolean } {
  if (notSeen.test(message)) {
    const hint =
      "the engine does not see this machine's files: use one that runs here, or set XDG_RUNTIME_DIR and XDG_STATE_HOME to directories that it shares";
    return { hint, isImages: false };
  }
  if (status === 404 && /image/i.test(message))
    return { hint: "run `codecell image build`, or pull the image that kernel.image names", isImages: true };
  if (noProgram.test(message)) return { hint: "set kernel.image to an image with Python 3.9 or newer", isImages: true };
  return { hint: "run `codecell doctor`, and check the engine's own log", isImages: false };
}
