import { expect, test } from "vitest";
import { fakeResult } from "../../../test/fakes/fake-result.ts";
import type { Session } from "../../sessions/session.ts";
import { NotebookExecution } from "./execute-notebook.ts";
import { maxNotebookBytes, readNotebook } from "./read-notebook.ts";
import { writeNotebook } from "./write-notebook.ts";

const read = (text: string) => readNotebook(Buffer.from(text), "n.ipynb");
function notebookOf(...sources: string[]) {
  const cells = sources.map((source, at) => ({
    ...{ cell_type: "code", id: `c${at}`, metadata: {}, source, outputs: [], execution_count: null },
  }));
  return read(JSON.stringify({ nbformat: 4, nbformat_minor: 5, metadata: {}, cells }));
}

/** A session in which every run prints the same text. */
function sessionPrinting(text: string): Session {
  const run = () =>
    Object.assign(Promise.resolve(fakeResult({ stdout: text })), {
      async *[Symbol.asyncIterator]() {
        yield { type: "stdout", text };
      },
    });
  return { run, languages: async () => ["python"] } as unknown as Session;
}

test("outputs that would make a notebook too large to be opened are left out, with a note", async () => {
  const notebook = notebookOf(..."1234".split(""));
  const execution = new NotebookExecution(notebook);
  await execution.run(sessionPrinting("\u0001".repeat(4_000_000))); // 24 MB each, as JSON
  const text = writeNotebook(notebook, execution.contents);
  expect(Buffer.byteLength(text)).toBeLessThanOrEqual(maxNotebookBytes);
  expect(read(text).cells).toHaveLength(4);
  const notes = [...execution.contents.values()].map(({ outputs: [first] }) => JSON.stringify(first).slice(0, 120));
  expect(notes.map((note) => note.includes("bytes of output are left out"))).toEqual([false, false, true, true]);
});

test("the result of a cell is kept whole only until the next one has ended", async () => {
  const execution = new NotebookExecution(notebookOf("1", "2"));
  await execution.run(sessionPrinting("text"));
  expect(execution.outcomes.map(({ result }) => result?.stdout)).toEqual(["", "text"]);
});

test("a cell with many members gets its outputs", async () => {
  const members = Array.from({ length: 200_000 }, (_, at) => `"m${at}":0`).join(",");
  const cell = `{"cell_type":"code","id":"a","metadata":{},"source":"1",${members}}`;
  const notebook = read(`{"nbformat":4,"nbformat_minor":5,"metadata":{},"cells":[${cell}]}`);
  const execution = new NotebookExecution(notebook);
  await execution.run(sessionPrinting("text"));
  expect(writeNotebook(notebook, execution.contents)).toMatch(/"m199999":0, ?"execution_count": ?1, ?"outputs": ?\[/);
});
