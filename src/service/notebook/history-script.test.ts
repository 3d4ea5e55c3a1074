import { describe, expect, test } from "vitest";
import type { HistoryEntry } from "../../sessions/storage/session-history.ts";
import { historyNotebook } from "./history-notebook.ts";
import { historyScript } from "./history-script.ts";

const run = (more: Partial<HistoryEntry> = {}): HistoryEntry => ({
  ...{ run: 1, atMs: 0, language: "python", code: "x = 1", status: "ok", durationMs: 1.6, ...more },
});
const outputs = (more: object = {}) => ({ events: [], value: undefined, error: undefined, leftOutBytes: 0, ...more });

describe("historyScript", () => {
  test("has a cell per run, and its outputs as comments", () => {
    const events = [{ type: "stdout" as const, text: "a\nb\n" }];
    expect(
      historyScript("work", [run(), run({ run: 2, code: "print(x)\n", outputs: outputs({ events, value: "7" }) })]),
    ).toBe(
      [
        "# Session work, exported by codecell. Each cell is one run.",
        "",
        "# %% run 1: 1970-01-01T00:00:00.000Z, python, ok",
        "x = 1",
        "",
        "# %% run 2: 1970-01-01T00:00:00.000Z, python, ok",
        "print(x)",
        "#> a",
        "#> b",
        "#> 7",
        "",
      ].join("\n"),
    );
  });

  test("code that failed and code of another language are comments", () => {
    const script = historyScript("s", [
      run({ code: "if:\n  x", status: "error" }),
      run({ code: "ls", language: "bash" }),
    ]);
    expect(script).toContain("\n# if:\n#   x\n");
    expect(script).toContain("\n# ls\n");
  });

  test("no output or failed code ends its comment and becomes code of the script", () => {
    const text = ["\n", "\r", "\r\n", "\u2028", "\u0085", "\f", "\v", "\u0000"]
      .map((end) => `safe${end}evil()`)
      .join("|");
    const error = { name: "E\revil()", message: "\revil()", traceback: "" };
    const events = [
      { type: "stdout" as const, text },
      { type: "display" as const, display: 1, mime: "x/\revil()", data: new Uint8Array() },
    ];
    const script = historyScript("s", [
      run({ code: text, status: "error", outputs: outputs({ events, value: text, error }) }),
    ]);
    for (const line of script.split(/[\n\r\v\f\u0085\u2028]/)) expect(line).toMatch(/^(?:#|$)/);
  });
});

describe("historyNotebook", () => {
  test("has a cell per run with its outputs, and says which outputs are gone", () => {
    const error = { name: "E", message: "m", traceback: "t" };
    const notebook = JSON.parse(
      historyNotebook("work", [
        run({ outputs: outputs({ value: "1", leftOutBytes: 1_234 }) }),
        run({ code: "ls", language: "bash", status: "error", outputs: outputs({ error }) }),
        run({ run: 3 }),
        run({ run: 4, isSilent: true, outputs: outputs() }),
      ]),
    );
    expect(notebook.metadata.codecell).toEqual({ session: "work" });
    expect(notebook.cells.map((cell: { outputs: object[] }) => cell.outputs.length)).toEqual([2, 1, 0, 0]);
    expect(notebook.cells[0].outputs[1].text[0]).toContain("1,234 more bytes");
    expect(notebook.cells[1].source).toEqual(["%%bash\n", "ls"]);
    expect(
      notebook.cells.map((cell: { metadata: { codecell: object } }) => "outputs" in cell.metadata.codecell),
    ).toEqual([...[false, false, true, false]]);
    expect(new Set(notebook.cells.map((cell: { id: string }) => cell.id)).size).toBe(4);
  });
});
