import { expect, test } from "vitest";
import type { PassedListener } from "../../lib/passed-listener.ts";
import type { EgressRules } from "../rules/decide.ts";
import { type ProxyLink, SessionEgress } from "./session-egress.ts";

const rules = (...deny: string[]): EgressRules => ({ enabled: true, allowlist: ["good.example"], deny });

/** A proxy that opens when the test says so, and records what it was sent. */
function fakeLink() {
  const sent: [string, EgressRules][] = [];
  let opened = () => {};
  const link: ProxyLink = {
    open: (current) => {
      sent.push(["open", current]);
      return new Promise((settle) => {
        opened = () => settle("/socket");
      });
    },
    listen: async () => {},
    update: async (current) => void sent.push(["update", current]),
    flush: async () => {},
    close: () => {},
  };
  return { link, sent, open: () => opened() };
}

test("an update of the rules waits until the opening with the old rules is done", async () => {
  const { link, sent, open } = fakeLink();
  const session = new SessionEgress(link, rules(), () => {});
  const ready = session.ready();
  const updating = session.update(rules("bad.example"));
  await new Promise((settle) => setImmediate(settle));
  expect(sent).toEqual([["open", rules()]]);
  open();
  await Promise.all([ready, updating]);
  expect(sent).toEqual([
    ["open", rules()],
    ["update", rules("bad.example")],
  ]);
});

test("a restarted proxy gets the rules in force", async () => {
  const { link, sent, open } = fakeLink();
  const session = new SessionEgress(link, rules(), () => {});
  void session.ready();
  open();
  await session.update(rules("bad.example"));
  session.lost();
  void session.ready();
  expect(sent.at(-1)).toEqual(["open", rules("bad.example")]);
});

test("a proxy that cannot be restarted does not starve the event loop", async () => {
  const { link, open } = fakeLink();
  const session = new SessionEgress(link, rules(), () => {});
  const listening = session.listen({ handle: {} } as PassedListener);
  open();
  await listening;
  let tries = 0;
  Object.assign(link, {
    open: async () => {
      if (++tries > 1000) return "/socket"; // ends the test if the event loop is starved
      throw new Error("it is gone");
    },
  });
  session.lost();
  await new Promise((settle) => setImmediate(settle));
  expect(tries).toBe(1);
  await session[Symbol.asyncDispose]();
});
