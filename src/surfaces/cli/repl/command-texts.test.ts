import { expect, test } from "vitest";
import { historyText, namesText } from "./command-texts.ts";

const variable = (name: string) => ({ name, type: "int", summary: "1", size: 28 });

test("%who lists the names in columns of the terminal's width", () => {
  expect(namesText(["rows", "a", "total"].map(variable), 16)).toBe("a      rows\ntotal\n");
  expect(namesText([], 80)).toBe("no variables\n");
});

test("%who shows no escape sequence of the cell", () => {
  expect(namesText([variable("a\u001b[2J\nb")], 80)).toBe("a^[[2J b\n");
});

test("%history shows entries as they can be typed again", () => {
  const entries = [
    { language: "python", code: "def f():\n    return 1\n" },
    { language: "bash", code: "ls -l" },
  ];
  expect(historyText(entries)).toBe("def f():\n    return 1\n!ls -l\n");
  expect(historyText([])).toBe("no entries\n");
});
