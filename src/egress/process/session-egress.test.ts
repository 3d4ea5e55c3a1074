import { expect, test } from "vitest";
import type { PassedListener } from "../../lib/passed-listener.ts";
import type { EgressRules } from "../rules/decide.ts";
import { type ProxyLink, SessionEgress } from "./session-egress.ts";

const rules = (...deny: string[]): EgressRules => ({ enabled: true, allowlist: ["good.example"], deny });

/** A proxy that opens when it is told to, and keeps what it was sent. */
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

test("other rules come after those that an opening under way brings, and not before", async () => {
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

test("a proxy that is started again gets the rules in force", async () => {
  const { link, sent, open } = fakeLink();
  const session = new SessionEgress(link, rules(), () => {});
  void session.ready();
  open();
  await session.update(rules("bad.example"));
  session.lost();
  void session.ready();
  expect(sent.at(-1)).toEqual(["open", rules("bad.example")]);
});

test("a proxy that cannot be started again leaves others their turn", async () => {
  const { link, open } = fakeLink();
  const session = new SessionEgress(link, rules(), () => {});
  const listening = session.listen({ handle: {} } as PassedListener);
  open();
  await listening;
  let tries = 0;
  Object.assign(link, {
    open: async () => {
      if (++tries > 1000) return "/socket"; // so that the test ends where nobody gets a turn
      throw new Error("it is gone");
    },
  });
  session.lost();
  await new Promise((settle) => setImmediate(settle));
  expect(tries).toBe(1);
  await session[Symbol.asyncDispose]();
});
