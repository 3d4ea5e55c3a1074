import { describe, expect, test } from "vitest";
import { CodecellError } from "../../lib/errors.ts";
import { askImage } from "./image-question.ts";
import type { ImageCommand, ImageCommandResult } from "./run-in-image.ts";

const good = { executable: "/usr/bin/python3", version: [3, 12, 1], path: ["/usr/lib/python3.12"], bundle: "AAAA" };
const ended = { stdout: "", diagnostics: "", exitCode: 0, timedOut: false, reason: undefined };
const ask = (result: Partial<ImageCommandResult>) =>
  askImage(async () => ({ ...ended, ...result }), "python:odd", "/run/draft");
const answer = (facts: object) => ask({ stdout: JSON.stringify({ ...good, ...facts }) });

describe("askImage", () => {
  test("runs an isolated Python with the kernel's directory and limits on time and output", async () => {
    const commands: ImageCommand[] = [];
    const run = async (command: ImageCommand) => {
      commands.push(command);
      return { ...ended, stdout: JSON.stringify(good) };
    };
    expect(await askImage(run, "python:odd", "/run/draft")).toEqual(good);
    expect(commands).toEqual([
      {
        ...{ command: ["python3", "-I", "-c", expect.any(String)], kernelDirectory: "/run/draft" },
        ...{ timeoutMs: 60_000, maxCharacters: 4 * 2 ** 20 },
      },
    ]);
  });

  test("fails with the image's name and its last line of output if Python does not start", async () => {
    await expect(ask({ diagnostics: "first\nno such file: python3\n", exitCode: 127 })).rejects.toMatchObject({
      code: "cell_start_failed",
      message: "Python does not start in the image python:odd: no such file: python3",
      hint: "set kernel.image to an image with Python 3.9 or newer",
    });
    await expect(ask({ exitCode: 3 })).rejects.toThrow("exit code 3");
    await expect(ask({ timedOut: true })).rejects.toThrow("did not answer within 60 s");
  });

  test("does not blame the image if the engine failed", async () => {
    const reason = new CodecellError("runner_unavailable", "the engine is gone");
    await expect(ask({ reason })).rejects.toBe(reason);
    const lost = new CodecellError("cell_lost", "killed");
    await expect(ask({ reason: lost })).rejects.toMatchObject({ code: "cell_start_failed", cause: lost });
  });

  test.each([
    ["text that is not JSON", "Python 3.12"],
    ["an interpreter that is not a full path", JSON.stringify({ ...good, executable: "python3" })],
    ["import directories that are not full paths", JSON.stringify({ ...good, path: ["."] })],
    ["a kernel that is not base64", JSON.stringify({ ...good, bundle: "<>" })],
  ])("rejects an answer with %s", async (_, stdout) => {
    await expect(ask({ stdout })).rejects.toThrow("the Python of python:odd sent an invalid answer");
  });

  test.each([
    [2, 7, 18],
    [3, 8, 20],
  ])("rejects Python %i.%i.%i as too old", async (...version) => {
    await expect(answer({ version })).rejects.toThrow(
      `python:odd has Python ${version.join(".")}, but cells need 3.9 or newer`,
    );
  });
});
