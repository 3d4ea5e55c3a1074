import { z } from "zod";
import { CodecellError } from "../../lib/errors.ts";
import { libcQuestion } from "../cell-packages.ts";
import type { ImageCommandResult, RunInImage } from "./run-in-image.ts";

const oldestMinor = 9;
const answerMs = 60_000;
const maxAnswerCharacters = 4 * 1024 * 1024;
const hint = `set kernel.image to an image with Python 3.${oldestMinor} or newer`;

/** The program that describes the image's Python and compiles the kernel. Its output contains the compiled kernel. */
const question = `import base64, json, sys
${libcQuestion}
found = {"executable": sys.executable, "version": list(sys.version_info[:3]), "path": [p for p in sys.path if p], "libc": libc(), "bundle": ""}
if sys.version_info >= (3, ${oldestMinor}):
    sys.path.insert(0, "/.kernel")
    from codecell_kernel.bundle import bundle
    found["bundle"] = base64.b64encode(bundle("/.kernel/codecell_kernel")).decode()
print(json.dumps(found))`;

/** Facts about the Python of an image. */
export const imageFactsSchema = z.object({
  executable: z.string().startsWith("/"),
  version: z.tuple([z.int(), z.int(), z.int()]),
  path: z.array(z.string().startsWith("/")).max(64),
  /** the C library, such as `glibc 2.36` */
  libc: z
    .string()
    .regex(/^(?:glibc|musl) \d+\.\d+$/)
    .nullish()
    .catch(null),
});
const answerSchema = imageFactsSchema.extend({
  /** the kernel as bytecode, in base64 */
  bundle: z.base64(),
});

export type ImageAnswer = z.output<typeof answerSchema>;

/** Runs the image's Python once. Its answer is untrusted, so it is validated. */
export async function askImage(run: RunInImage, imageName: string, kernelDirectory: string): Promise<ImageAnswer> {
  const command = ["python3", "-I", "-c", question];
  const result = await run({ command, kernelDirectory, timeoutMs: answerMs, maxCharacters: maxAnswerCharacters });
  if (result.stdout.trim() === "") throw noAnswer(result, imageName);
  return checked(result.stdout, imageName);
}

function noAnswer({ diagnostics, exitCode, timedOut, reason }: ImageCommandResult, image: string): CodecellError {
  if (reason !== undefined && reason.code !== "cell_lost") return reason; // the engine failed, not the image
  const ended = timedOut ? `it did not answer within ${answerMs / 1000} s` : `exit code ${exitCode}`;
  const lastLine = diagnostics.trim().split("\n").at(-1)?.slice(0, 300) || ended;
  return new CodecellError("cell_start_failed", `Python does not start in the image ${image}: ${lastLine}`, {
    hint,
    cause: reason,
    details: { diagnostics },
  });
}

function checked(answer: string, image: string): ImageAnswer {
  const found = answerSchema.safeParse(parsed(answer));
  if (!found.success) {
    throw new CodecellError("cell_start_failed", `the Python of ${image} sent an invalid answer`, {
      hint: "set kernel.image to another image",
    });
  }
  const [major, minor, micro] = found.data.version;
  if (major !== 3 || minor < oldestMinor) {
    const message = `${image} has Python ${major}.${minor}.${micro}, but cells need 3.${oldestMinor} or newer`;
    throw new CodecellError("cell_start_failed", message, { hint });
  }
  return found.data;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
