import { Duplex } from "node:stream";
import { expect, test } from "vitest";
import { knock } from "./knock.ts";

/** A pod's end: it gets each line that the host writes. */
function pod(onLine: (line: string, say: (text: string) => void) => void): Duplex {
  let rest = "";
  const stream: Duplex = new Duplex({
    read() {},
    write(chunk, _encoding, callback) {
      const lines = (rest + chunk).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) onLine(line, (text) => stream.push(text));
      callback();
    },
  });
  return stream;
}
const inTime = () => AbortSignal.timeout(5_000);

test("what follows the greeting is left to the next reader, without what was said to earlier knocks", async () => {
  const stream = pod((line, say) => {
    if (line.startsWith("knock")) say(`here${line.slice(5)}\n`);
    if (line === "open") say("begin\nHELLO");
  });
  await knock(stream, inTime());
  const first = await new Promise((resolve) => stream.once("data", resolve));
  expect(String(first)).toBe("HELLO");
});

test("a knock whose answer is lost is repeated", async () => {
  let knocks = 0;
  const stream = pod((line, say) => {
    if (line.startsWith("knock") && ++knocks === 2) say(`here${line.slice(5)}\n`);
    if (line === "open") say("begin\n");
  });
  await knock(stream, inTime());
  expect(knocks).toBe(2);
});

test("much that comes in one piece with the greeting is left to the next reader", async () => {
  const frames = "x".repeat(70_000);
  const stream = pod((line, say) => {
    if (line.startsWith("knock")) say(`here${line.slice(5)}\n`);
    if (line === "open") say(`begin\n${frames}`);
  });
  await knock(stream, inTime());
  const first = await new Promise((resolve) => stream.once("data", resolve));
  expect(String(first)).toBe(frames);
});

test("a pod that ends, floods or stays silent is an error", async () => {
  const ending = pod((_line, _say) => ending.push(null));
  await expect(knock(ending, inTime())).rejects.toThrow("ended before its kernel answered");
  const flooding = pod((_line, say) => say("x".repeat(70_000)));
  await expect(knock(flooding, inTime())).rejects.toThrow("something else than its kernel's greeting");
  const abort = new AbortController();
  const waiting = knock(
    pod(() => abort.abort(new Error("too late"))),
    abort.signal,
  );
  await expect(waiting).rejects.toThrow("too late");
});
