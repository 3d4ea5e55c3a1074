import { expect, test } from "vitest";
import { silentLogger } from "../../../lib/log/logger.ts";
import { ApiRefusal } from "./api-refusal.ts";
import type { ClusterApi } from "./cluster-api.ts";
import { PodWatch } from "./pod-watch.ts";

const pod = (name: string, uid: string) => ({
  metadata: { name, uid, resourceVersion: "1" },
  spec: {},
  status: {},
});

/** A watch of an API server that tells one event after the other. */
async function watching(): Promise<{ watch: PodWatch; tell: (type: string, object: object) => Promise<void> }> {
  let next: (event: object) => void = () => {};
  let asked: () => void = () => {};
  const api = {
    path: () => "/api/v1/namespaces/cells/pods",
    json: async () => ({ metadata: { resourceVersion: "1" }, items: [] }),
    async *lines(_: unknown, __: number) {
      for (;;) {
        yield await new Promise<object>((resolve) => {
          next = resolve;
          asked();
        });
      }
    },
  };
  const ready = () =>
    new Promise<void>((resolve) => {
      asked = resolve;
    });
  const first = ready();
  const watch = await new PodWatch(api as unknown as ClusterApi, "", silentLogger).open();
  await first;
  const tell = async (type: string, object: object) => {
    const taken = ready();
    next({ type, object });
    await taken;
  };
  return { watch, tell };
}

test("a listener that leaves twice does not take along the one that came after it", async () => {
  const { watch, tell } = await watching();
  const first = watch.listen("cell", () => {});
  first[Symbol.dispose]();
  const heard: (string | undefined)[] = [];
  watch.listen("cell", (one) => heard.push(one?.metadata.uid));
  first[Symbol.dispose]();
  await tell("ADDED", pod("cell", "1"));
  expect(heard).toEqual(["1"]);
});

test("a pod that is created while the watch lists pods again is not gone because the list is older", async () => {
  const lists: ((answer: object) => void)[] = [];
  const listed = (...items: object[]) => ({ metadata: { resourceVersion: "1" }, items });
  let expire: () => void = () => {};
  const api = {
    path: () => "/api/v1/namespaces/cells/pods",
    json: () => new Promise<object>((resolve) => lists.push(resolve)),
    async *lines() {
      await new Promise<void>((resolve) => {
        expire = resolve;
      });
      throw new ApiRefusal(410, "Expired", "too old");
    },
  };
  const opening = new PodWatch(api as unknown as ClusterApi, "", silentLogger).open();
  lists[0]?.(listed(pod("older", "0")));
  const watch = await opening;
  const heard: (string | undefined)[] = [];
  watch.listen("older", (one) => heard.push(one?.metadata.uid));
  watch.listen("new", (one) => heard.push(one?.metadata.uid));
  await expect
    .poll(() => {
      expire();
      return lists.length;
    })
    .toBe(2);
  watch.created(pod("new", "1"));
  lists[1]?.(listed());
  await expect.poll(() => watch.get("older")).toBeUndefined();
  expect(watch.get("new")?.metadata.uid).toBe("1");
  expect(heard).toEqual(["0", undefined]);
});
