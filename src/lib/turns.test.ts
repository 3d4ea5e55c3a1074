import { expect, test } from "vitest";
import { Turns } from "./turns.ts";

/** Work that says when it begins and ends when it is told to. */
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

test("work of one caller goes one after the other, and another's does not wait for it", async () => {
  const turns = new Turns();
  const begun: string[] = [];
  const [a1, a2, b1] = [piece("a1", begun), piece("a2", begun), piece("b1", begun)];
  const answers = [turns.take("a", a1.work), turns.take("a", a2.work), turns.take("b", b1.work)];
  b1.end();
  expect(await answers[2]).toBe("b1");
  expect(begun).toEqual(["a1", "b1"]);
  a1.end();
  a2.end();
  expect(await Promise.all(answers)).toEqual(["a1", "a2", "b1"]);
});

test("what fails, and who has left, hold up nobody", async () => {
  const turns = new Turns();
  const begun: string[] = [];
  const failing = turns.take("a", async () => {
    throw new Error("no");
  });
  const left = turns.take("a", piece("left", begun).work, AbortSignal.abort());
  const next = piece("next", begun);
  const answer = turns.take("a", next.work);
  next.end();
  await expect(failing).rejects.toThrow("no");
  await expect(left).rejects.toMatchObject({ code: "aborted" });
  expect(await answer).toBe("next");
  expect(begun).toEqual(["next"]);
});
