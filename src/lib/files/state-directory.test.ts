import { afterEach, expect, test, vi } from "vitest";
import { stateDirectory } from "./state-directory.ts";
import { userHome } from "./user-home.ts";

const account = () => "/home/ada";
afterEach(() => void vi.unstubAllEnvs());

test.each([undefined, "", "relative", "./here"])("HOME=%j stands for the home directory of the account", (HOME) => {
  const home = userHome({ HOME }, account);
  expect(home).toMatch(/^\//);
  expect(home).not.toContain(process.cwd());
});

test("a home directory of the account that is not absolute does not count", () => {
  vi.stubEnv("HOME", "relative");
  expect(userHome(process.env, account)).toBe("/home/ada");
  expect(userHome(process.env, () => "elsewhere")).toBeUndefined();
  expect(userHome(process.env, () => undefined)).toBeUndefined();
});

test("sessions of a user are kept below the home directory, unless XDG_STATE_HOME is absolute", () => {
  const directory = (environment: NodeJS.ProcessEnv) => stateDirectory(environment, 1000);
  expect(directory({ HOME: "/home/eve" })).toBe("/home/eve/.local/state/codecell");
  expect(directory({ HOME: "/home/eve", XDG_STATE_HOME: "relative" })).toBe("/home/eve/.local/state/codecell");
  expect(directory({ HOME: "/home/eve", XDG_STATE_HOME: "/state" })).toBe("/state/codecell");
  expect(directory({ HOME: "" })).toMatch(/^\/.*\.local\/state\/codecell$/);
});

test("a user without a home directory is told which variable to set", () => {
  const homeless = () => stateDirectory({ HOME: "relative" }, 1000, () => undefined);
  expect(homeless).toThrow(
    expect.objectContaining({ code: "usage", hint: "set XDG_STATE_HOME or HOME to an absolute path" }),
  );
});
