import { expect, test } from "vitest";
import { routeOf } from "./session-route.ts";

const alive = { id: "g-2", url: "http://10.0.0.2:7410", isAlive: true, renewedUntilMs: 2_000 };

test("a session that another living gateway has is answered there", () => {
  expect(routeOf({ owner: alive, isSaved: true }, "g-1")).toEqual({ to: "peer", id: "g-2", url: alive.url });
});

test("new, saved and own sessions are answered here, and those of a lost gateway", () => {
  expect(routeOf(undefined, "g-1")).toEqual({ to: "here" });
  expect(routeOf({ owner: undefined, isSaved: true }, "g-1")).toEqual({ to: "here" });
  expect(routeOf({ owner: { ...alive, id: "g-1" }, isSaved: false }, "g-1")).toEqual({ to: "here" });
  expect(routeOf({ owner: { ...alive, isAlive: false }, isSaved: true }, "g-1")).toEqual({ to: "here" });
});

test("a session that a process without an address has is not passed on: whoever opens it learns that it is busy", () => {
  expect(routeOf({ owner: { ...alive, url: undefined }, isSaved: true }, "g-1")).toEqual({ to: "here" });
});
