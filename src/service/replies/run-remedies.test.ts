import { expect, test } from "vitest";
import { fakeResult } from "../../../test/fakes/fake-result.ts";
import { parsePolicy } from "../../policy/file/parse-policy.ts";
import { runRemedies } from "./run-remedies.ts";

const policy = parsePolicy({ proc: { timeout: "5m", memory: "512MiB", pids: 64, disk: "256MiB" } });
const failed = (name: string, message: string, more = {}) =>
  fakeResult({ id: 2, status: "error", exitCode: 1, error: { name, message, traceback: "" }, ...more });

test("a run that ended well needs no remedy", () => {
  expect(runRemedies(fakeResult({ stderr: "Network is unreachable" }), { policy })).toEqual([]);
  expect(runRemedies(failed("ValueError", "no"), { policy })).toEqual([]);
});

test.each([
  [
    "the timeout of the call",
    fakeResult({ status: "timeout", durationMs: 1_000 }),
    /timeout of the call .* up to 300, with wait=0/,
  ],
  ["the policy's timeout", fakeResult({ status: "timeout", durationMs: 300_004 }), /^5m is .*proc\.timeout/],
  [
    "memory",
    fakeResult({ status: "out_of_memory", usage: usage(undefined) }),
    /limit 512MiB \(proc\.memory\), peak 512MiB: /,
  ],
  ["a MemoryError", failed("MemoryError", "", { usage: usage(400 * 2 ** 20) }), /limit 512MiB .*peak 400MiB/],
  ["processes", failed("BlockingIOError", "[Errno 11] Resource temporarily unavailable"), /64 processes .*proc\.pids/],
  ["threads", failed("RuntimeError", "can't start new thread"), /proc\.pids/],
  ["disk", failed("OSError", "[Errno 28] No space left on device"), /256MiB .*proc\.disk/],
  ["a large file", failed("OSError", "[Errno 27] File too large"), /256MiB .*proc\.disk/],
  ["output", fakeResult({ status: "output_limit" }), /proc\.output \(1MiB\)/],
  [
    "the network",
    failed("urllib.error.URLError", "<urlopen error [Errno -2] Name or service not known>"),
    /there is no network/,
  ],
  [
    "the network in bash",
    fakeResult({ status: "error", exitCode: 6, stderr: "curl: (6) Could not resolve host: a" }),
    /no network/,
  ],
  [
    "a file of the host",
    failed("FileNotFoundError", "[Errno 2] No such file or directory: '/etc/shadow'"),
    /not visible here: rlm_load/,
  ],
  ["a crash", fakeResult({ status: "crashed" }), /do not run the same code again/],
])("a run that failed because of %s says why and what to do", (_, result, remedy) => {
  const [said, ...more] = runRemedies(result, { policy, peakMemoryBytes: 640 * 2 ** 20 });
  expect(said).toMatch(remedy);
  expect(more).toEqual([]);
});

test("a missing module is answered with what there is and how to add more", () => {
  const python = { version: "3.11.2", packages: ["numpy", "pandas"] };
  const [said] = runRemedies(failed("ModuleNotFoundError", "No module named 'torch'"), { policy, python });
  expect(said).toMatch(
    /here is Python 3\.11\.2 with numpy, pandas; there is no network .*give the sandbox torch .*kernel\.packages.*kernel\.image/,
  );
});

test("pip that fails inside is answered with who installs packages", () => {
  const [said] = runRemedies(failed("SyntaxError", "invalid syntax", { stderr: "sh: 1: pip: not found\n" }), {
    policy,
  });
  expect(said).toMatch(/cannot be installed from inside: the user names them in the policy \(kernel\.packages\)/);
});

test("an unknown name in the first run of a session is answered with the other sessions", () => {
  const first = failed("NameError", "name 'rows' is not defined", { id: 1 });
  expect(runRemedies(first, { policy, otherSessions: ["s-a"] })[0]).toMatch(/session is new .*you also have s-a/);
  expect(runRemedies(first, { policy })[0]).toMatch(/session is new and has no variables yet$/);
  expect(runRemedies({ ...first, id: 2 }, { policy })).toEqual([]);
});

test("a failed connection has no remedy where the policy opens the network: its notes name the rule", () => {
  const open = parsePolicy({ net: { enabled: true, allowlist: ["a.example"] } });
  expect(runRemedies(failed("URLError", "Name or service not known"), { policy: open })).toEqual([]);
});

test("a missing file below a mount has no remedy", () => {
  const mounted = parsePolicy({ fs: { mounts: [{ source: "/srv", target: "/data" }] } });
  const missing = failed("FileNotFoundError", "[Errno 2] No such file or directory: '/data/a.csv'");
  expect(runRemedies(missing, { policy: mounted })).toEqual([]);
});

function usage(peakMemoryBytes: number | undefined) {
  return { cpuMs: 1, peakMemoryBytes, wallMs: 1, sentBytes: 0, receivedBytes: 0 };
}
