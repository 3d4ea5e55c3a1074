import fc from "fast-check";
import { expect, test } from "vitest";
import { CodecellError } from "../../src/lib/errors.ts";
import { cellProgram } from "../../src/service/notebook/cell-program.ts";
import { checkEnd, JsonProblem, scanJson } from "../../src/service/notebook/json-scanner.ts";
import { notebookOutputs } from "../../src/service/notebook/notebook-output.ts";
import { readNotebook } from "../../src/service/notebook/read-notebook.ts";
import { writeNotebook } from "../../src/service/notebook/write-notebook.ts";
import { patienceMs, tries } from "../support/fuzz/long-mode.ts";
import { mutatedBytes } from "../support/fuzz/mutations.ts";

const sample = Buffer.from(
  JSON.stringify(
    {
      cells: [
        { cell_type: "markdown", id: "a", metadata: {}, source: ["# é\n", "text"] },
        {
          ...{ cell_type: "code", execution_count: 3, id: "b", metadata: { tags: ["x"], n: 1.5 } },
          outputs: [{ output_type: "stream", name: "stdout", text: ["1\n"] }],
          source: "%%bash\nls",
        },
      ],
      metadata: { kernelspec: { language: "python" } },
      ...{ nbformat: 4, nbformat_minor: 5 },
    },
    null,
    1,
  ),
);

test(
  "a mutated notebook is refused with a code, or its copy is a notebook with the new outputs",
  () => {
    let readable = 0;
    const property = fc.property(mutatedBytes([sample]), (bytes) => {
      let notebook: ReturnType<typeof readNotebook>;
      try {
        notebook = readNotebook(bytes, "n.ipynb");
      } catch (error) {
        if (!(error instanceof CodecellError)) throw error;
        expect(error.message.length).toBeLessThan(1_000);
        return;
      }
      readable++;
      const content = { outputs: [], executionCount: 7 };
      const code = notebook.cells.filter(({ type }) => type === "code");
      const copy = readNotebook(
        Buffer.from(writeNotebook(notebook, new Map(code.map((cell) => [cell, content])))),
        "n",
      );
      expect(copy.cells.map(({ source }) => source)).toEqual(notebook.cells.map(({ source }) => source));
      const { cells } = JSON.parse(copy.text) as {
        cells: { cell_type: string; outputs?: []; execution_count?: number }[];
      };
      for (const cell of cells.filter((one) => one.cell_type === "code"))
        expect(cell).toMatchObject({ outputs: [], execution_count: 7 });
    });
    fc.assert(property, tries(400));
    expect(readable).toBeGreaterThan(5);
  },
  patienceMs,
);

test(
  "the scanner of JSON accepts what JSON.parse accepts, and nothing else",
  () => {
    const isJson = (text: string, parse: (text: string) => void) => {
      try {
        parse(text);
        return true;
      } catch (error) {
        if (error instanceof SyntaxError || error instanceof JsonProblem) return false;
        throw error;
      }
    };
    const texts = fc.oneof(
      mutatedBytes([sample]).map((bytes) => new TextDecoder().decode(bytes)),
      fc.json({ maxDepth: 5 }),
      fc.string({ unit: fc.constantFrom(...'[]{}",:\\/u0e1-+. \n\ttrufalsn') }),
    );
    const property = fc.property(texts, (text) => {
      expect(isJson(text, (one) => checkEnd(one, scanJson(one)))).toBe(isJson(text, JSON.parse));
    });
    fc.assert(property, tries(800));
  },
  patienceMs,
);

test(
  "any source of a cell becomes a program with the same lines, or is refused",
  () => {
    const pieces = fc.constantFrom(
      "!ls",
      "%cd x",
      "%%bash",
      "%%time",
      "x = !ls",
      "'''",
      '"',
      "(",
      ")",
      "\\",
      "#",
      "x?",
      " ",
      "\n",
      "\r\n",
      "%",
      "=",
    );
    const property = fc.property(
      fc.array(pieces).map((all) => all.join("")),
      (source) => {
        const program = cellProgram(source);
        const isRewritten = /^\s*%%/m.test(source);
        if (program.kind === "run" && !isRewritten) {
          expect(program.code.split("\n").length).toBe(source.split("\n").length);
        }
      },
    );
    fc.assert(property, tries(500));
  },
  patienceMs,
);

test(
  "whatever a cell displays becomes outputs that are JSON",
  () => {
    const event = fc.oneof(
      fc.record({ type: fc.constantFrom("stdout" as const, "stderr" as const), text: fc.string({ unit: "binary" }) }),
      fc.record({
        type: fc.constant("display" as const),
        display: fc.nat(3),
        mime: fc.oneof(
          fc.string(),
          fc.constantFrom("application/json", "text/plain", "image/png", "__proto__", "a/b+json"),
        ),
        data: fc.oneof(
          fc.uint8Array(),
          fc.json().map((text) => Buffer.from(text)),
        ),
      }),
    );
    const property = fc.property(fc.array(event), fc.option(fc.string(), { nil: undefined }), (events, value) => {
      const outputs = notebookOutputs(events, { executionCount: 1, status: "ok", value });
      expect(JSON.parse(JSON.stringify(outputs))).toEqual(outputs);
    });
    fc.assert(property, tries(300));
  },
  patienceMs,
);
