import { expect, test } from "vitest";
import { SerialQueues } from "./serial-queues.ts";

/** Work that reports when it starts and ends when the test says so. */
function piece(name: string, begun: string[]) {
  let end = () => {};
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  const work = async () => {
    begun.push(name);
    await ended;
    return name;
  };
  return { work, end };
}

test("tasks of one caller run one at a time, and tasks of other callers do not wait for them", async () => {
  const queues = new SerialQueues();
  const begun: string[] = [];
  const [a1, a2, b1] = [piece("a1", begun), piece("a2", begun), piece("b1", begun)];
  const answers = [queues.run("a", a1.work), queues.run("a", a2.work), queues.run("b", b1.work)];
  b1.end();
  expect(await answers[2]).toBe("b1");
  expect(begun).toEqual(["a1", "b1"]);
  a1.end();
  a2.end();
  expect(await Promise.all(answers)).toEqual(["a1", "a2", "b1"]);
});

test("a failed task and an aborted caller block no other task", async () => {
  const queues = new SerialQueues();
  const begun: string[] = [];
  const failing = queues.run("a", async () => {
    throw new Error("no");
  });
  const left = queues.run("a", piece("left", begun).work, AbortSignal.abort());
  const next = piece("next", begun);
  const answer = queues.run("a", next.work);
  next.end();
  await expect(failing).rejects.toThrow("no");
  await expect(left).rejects.toMatchObject({ code: "aborted" });
  expect(await answer).toBe("next");
  expect(begun).toEqual(["next"]);
});
