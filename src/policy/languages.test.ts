import { expect, test } from "vitest";
import {
  defaultLanguage,
  type LanguageFacts,
  languageNames,
  languageOfExtension,
  languageOfPrefix,
  languages,
  parseLanguage,
} from "./languages.ts";

const facts: readonly LanguageFacts[] = Object.values(languages);

test("the default language comes first and needs no prefix in the repl", () => {
  expect(languageNames[0]).toBe(defaultLanguage);
  expect(languages[defaultLanguage]).not.toHaveProperty("replPrefix");
});

test("no two languages share an extension or a prefix", () => {
  for (const all of [
    facts.flatMap(({ extensions }) => extensions),
    facts.flatMap(({ replPrefix = [] }) => replPrefix),
  ]) {
    expect(new Set(all).size).toBe(all.length);
  }
});

test("parseLanguage finds every language by its exact name, and nothing else", () => {
  for (const name of languageNames) expect(parseLanguage(name)).toBe(name);
  for (const text of ["", "Python", "constructor", "toString", "perl"]) expect(parseLanguage(text)).toBeUndefined();
});

test("languageOfExtension ignores case and returns undefined for other extensions", () => {
  expect([".py", ".PY", ".sh", ".bash", ".txt", ""].map(languageOfExtension)).toEqual([
    ...["python", "python", "bash", "bash"],
    ...[undefined, undefined],
  ]);
});

test("languageOfPrefix finds the language of a repl line by its prefix", () => {
  expect(languageOfPrefix("!ls")).toEqual({ language: "bash", prefix: "!" });
  expect(languageOfPrefix("1 != 2")).toBeUndefined();
});
