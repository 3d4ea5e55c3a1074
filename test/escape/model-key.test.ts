import { createHash, randomBytes } from "node:crypto";
import { chmod, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { availableRunners, codecell } from "../e2e/codecell-process.ts";
import { type Script, scriptedKey, startScriptedModelServer } from "../fakes/scripted-model-server.ts";

/** Is in the cell, as an input: the search must find it, or it would prove nothing. */
const canary = `canary-${randomBytes(12).toString("hex")}`;

/** The beginning of a secret and the hash of its end: a search for them does not have the secret in its own memory. */
function trace(secret: string) {
  const head = secret.slice(0, 14);
  const rest = Buffer.from(secret.slice(14));
  return `(b"${head}", ${rest.length}, "${createHash("sha256").update(rest).digest("hex")}")`;
}

/** Looks for a secret in everything that code can read: memory, processes, environments, command lines and files. */
const search = `
import ctypes, gc, hashlib, os
def holds(data, secret):
    head, size, digest = secret
    at = data.find(head)
    while at >= 0:
        if hashlib.sha256(data[at + len(head):at + len(head) + size]).hexdigest() == digest: return True
        at = data.find(head, at + 1)
    return False
def memories():
    try: pids = [name for name in os.listdir("/proc") if name.isdigit()]
    except OSError: pids = []
    for pid in pids:
        for name in ("environ", "cmdline"):
            try: yield open(f"/proc/{pid}/{name}", "rb").read()
            except OSError: pass
        try: memory, maps = open(f"/proc/{pid}/mem", "rb", 0), open(f"/proc/{pid}/maps").read()
        except OSError: continue
        for line in maps.splitlines():
            if "r" not in line.split()[1] or "[v" in line: continue
            start, end = (int(part, 16) for part in line.split()[0].split("-"))
            for at in range(start, end, 16 << 20):
                try:
                    memory.seek(at)
                    yield memory.read(min(end - at, (16 << 20) + 64))
                except (OSError, ValueError, OverflowError): pass
    if not pids: yield ctypes.string_at(8, max(id(one) for one in gc.get_objects()))
    yield repr(dict(os.environ)).encode()
def files():
    for root in ("/workspace", "/tmp", "/run", "/etc", "/home", "/root", "/var", "/.kernel", os.getcwd()):
        for directory, names, found in os.walk(root):
            for name in found:
                try:
                    fd = os.open(os.path.join(directory, name), os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
                    try: yield os.read(fd, 1 << 20)
                    finally: os.close(fd)
                except OSError: pass
def places(secret): return [any(holds(data, secret) for data in read()) for read in (memories, files)]
refused = [str(one) for one in llm_query_batched(["x", "y"])]
open("note.txt", "w").write(given + repr(refused))
print(places(${trace(canary)}), places(${trace(scriptedKey)}), refused)`;

const script: Script = ({ system, messages }) => {
  if (system === undefined) {
    return messages[0]?.text === "x"
      ? // as a server that repeats what it was sent
        { fault: "status", status: 401, message: `invalid x-api-key: ${scriptedKey}` }
      : "answer";
  }
  return `\`\`\`python\n${messages.length === 1 ? search : "SUBMIT(done=True)"}\n\`\`\``;
};

describe.each(await availableRunners())("the key of a model, for a run in the %s runner", (runner) => {
  let top: string;
  beforeAll(async () => {
    top = await mkdtemp(join(tmpdir(), "codecell-key-"));
    await chmod(top, 0o711);
    await writeFile(join(top, "given.txt"), canary);
  });
  afterAll(() => rm(top, { recursive: true, force: true }));

  test("is in no memory, process or file of the cell, and in no file or line that codecell writes", async () => {
    await using server = await startScriptedModelServer("anthropic", script);
    const argv = [
      ...["rlm", "run", "-s", "given -> done: bool", "--input", "given=given.txt", "--runner", runner],
      ...["--model", "anthropic/claude-haiku-4-5", "--record", "run.tape", "--trajectory", "run.jsonl"],
      ...["--state-dir", join(top, "state"), "--verbose", "--log-level", "debug", "--log-file", join(top, "log.txt")],
    ];
    const env = { ANTHROPIC_API_KEY: scriptedKey, ANTHROPIC_BASE_URL: server.url, OPENAI_API_KEY: `${scriptedKey}-2` };
    const { stdout, stderr, code } = await codecell(argv, { cwd: top, env });
    expect({ stdout, code }, stderr).toEqual({ stdout: "done: true\n", code: 0 });
    const seen = server.requests.at(-1)?.messages.at(-1)?.text ?? "";
    expect(seen).toContain("[True, True] [False, False]");
    expect(seen).toContain("401");

    const entries = await readdir(top, { recursive: true, withFileTypes: true });
    const paths = entries.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name));
    const written = await Promise.all(paths.map((path) => readFile(path, "utf8")));
    const all = [stdout, stderr, JSON.stringify(server.requests.map(({ body }) => body)), ...written].join("\n");
    expect(all).toContain('"type":"model.call"');
    expect(all).toContain('"type":"sent"');
    expect(all).toContain('"type":"run_start"');
    for (const part of [scriptedKey, scriptedKey.slice(3, 22), Buffer.from(scriptedKey).toString("base64")]) {
      expect(all).not.toContain(part);
    }
  });
});
