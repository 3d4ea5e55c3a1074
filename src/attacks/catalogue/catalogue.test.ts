import { execFileSync, spawnSync } from "node:child_process";
import { expect, test } from "vitest";
import { attackKinds } from "../attack.ts";
import { attacks } from "./index.ts";

test("the catalogue has at least 150 attacks, and some of every kind", () => {
  expect(attacks.length).toBeGreaterThanOrEqual(150);
  expect(attackKinds.filter((kind) => !attacks.some((attack) => attack.kind === kind))).toEqual([]);
});

test("every attack has an id of its own: a theme and a name", () => {
  const ids = attacks.map(({ id }) => id);
  expect(ids.filter((id, index) => ids.indexOf(id) !== index)).toEqual([]);
  expect(ids.filter((id) => !/^[a-z][a-z0-9-]*\/[a-z0-9][a-z0-9-]*$/.test(id))).toEqual([]);
});

test("every title completes the sentence `A program that …`", () => {
  const odd = attacks.filter(({ title }) => !/^[a-z].*(?:[^.]|\/\.\.)$/.test(title));
  expect(odd.map(({ id }) => id)).toEqual([]);
});

test("every attack has a control, or says why there can be none", () => {
  const without = attacks.filter(({ control }) => "none" in control && control.none.length < 10);
  expect(without.map(({ id }) => id)).toEqual([]);
});

test("no attack names a host or an address outside of this machine", () => {
  const address =
    /\b(?!127\.|0\.0\.0\.0|0177\.)\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}\b|https?:\/\/(?!127\.|" \+|\w+\.example)[a-z]/;
  expect(attacks.filter(({ code }) => address.test(code)).map(({ id }) => id)).toEqual([]);
});

const hasPython = spawnSync("python3", ["-c", ""]).status === 0;

test.skipIf(!hasPython)("every attack is Python that compiles", () => {
  const programs = attacks.flatMap(({ id, language, code, afterwards, victim }) =>
    language === "bash" ? [] : [code, afterwards, victim?.before, victim?.after].map((text) => [id, text ?? ""]),
  );
  const check = `import json, sys
wrong = []
for name, text in json.load(sys.stdin):
    try: compile(text, name, "exec")
    except SyntaxError as error: wrong.append("%s: %s" % (name, error))
print(json.dumps(wrong))`;
  const said = execFileSync("python3", ["-W", "ignore", "-c", check], {
    input: JSON.stringify(programs),
    encoding: "utf8",
  });
  expect(JSON.parse(said)).toEqual([]);
});
