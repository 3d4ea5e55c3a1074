import { expect, test } from "vitest";
import { despiteExits, ProxyExited } from "./proxy-exited.ts";

test("a proxy that was killed is asked again", async () => {
  let asked = 0;
  const answer = await despiteExits(async () => {
    if (++asked < 3) throw new ProxyExited();
    return "opened";
  });
  expect([answer, asked]).toEqual(["opened", 3]);
});

test("a proxy that is killed again and again is an error that says so, and what to do", async () => {
  let asked = 0;
  const opening = despiteExits(() => {
    asked++;
    return Promise.reject(new ProxyExited());
  });
  const message = "the egress proxy exited while a session was opened";
  const expected = { code: "cell_start_failed", message, hint: expect.stringContaining("try again") };
  await expect(opening).rejects.toMatchObject(expected);
  expect(asked).toBe(3);
});

test("any other error is not tried again", async () => {
  let asked = 0;
  const opening = despiteExits(() => {
    asked++;
    return Promise.reject(new Error("refused"));
  });
  await expect(opening).rejects.toThrow("refused");
  expect(asked).toBe(1);
});
