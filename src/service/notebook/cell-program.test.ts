import { describe, expect, test } from "vitest";
import { cellProgram } from "./cell-program.ts";

const codeOf = (source: string) => {
  const program = cellProgram(source);
  return program.kind === "run" ? program.code : program;
};

describe("cellProgram", () => {
  test("leaves Python as it is", () => {
    for (const code of [
      "x = 1\nx % 2",
      "x = (a\n  % b)",
      "s = '''\n%%bash\n!ls\n'''",
      "x = a \\\n% b",
      "f(\n!x\n)",
      "a != b",
    ])
      expect(codeOf(code)).toBe(code);
  });

  test("knows a cell without code", () => expect(cellProgram(" \n\t")).toEqual({ kind: "empty" }));

  test("runs a command of the shell, also in a block and as a value", () => {
    expect(codeOf("if x:\n    !ls -l")).toMatch(/^if x:\n {4}__import__\("sys"\)\.stdout.*run\("ls -l", shell=True/);
    expect(codeOf("files = !ls")).toMatch(/^files = __import__\("subprocess"\).*\.splitlines\(\)$/);
    expect(cellProgram("!ls")).toMatchObject({ needsShell: true });
  });

  test("keeps the number of lines, also of a command over several lines", () => {
    const code = codeOf("!echo a \\\n  b\n1/0") as string;
    expect(code.split("\n")).toEqual([expect.stringContaining('"echo a   b"'), "", "1/0"]);
  });

  test("takes a command over very many lines", () => {
    const lines = 200_000;
    expect((codeOf(`!x\\\n${"a\\\n".repeat(lines)}b\n1/0`) as string).split("\n")).toHaveLength(lines + 3);
  });

  test("quotes a command, so that it cannot end the literal that it is in", () => {
    expect(codeOf('!echo "\\" ; \'')).toContain(JSON.stringify('echo "\\" ; \''));
  });

  test("a quote in a command does not hide the magics after it", () => {
    expect(codeOf("!echo \"it's\n%pwd")).toMatch(/\n__import__\("os"\)\.getcwd\(\)$/);
  });

  test("runs %%bash as bash, with the same lines", () => {
    expect(cellProgram("# why\n%%bash\necho 1\n")).toMatchObject({ language: "bash", code: "# why\n\necho 1\n" });
  });

  test("leaves pip install to the kernel where the policy lets programs install", () => {
    const source = "%pip install -q pandas 'numpy>1'\n!pip install humanize\nx";
    expect(cellProgram(source, "python", true)).toMatchObject({ code: source, notes: [] });
  });

  test("explains pip install and goes on", () => {
    const program = cellProgram("%pip install -q pandas 'numpy>1'\nx");
    expect(program).toMatchObject({
      code: "pass\nx",
      notes: [expect.stringContaining("--with pandas --with 'numpy>1'`")],
    });
    for (const line of ["!pip install pandas", "!python3 -m pip install pandas", "%conda install pandas"])
      expect(cellProgram(line)).toMatchObject({ code: "pass", notes: [expect.stringContaining("--with pandas`")] });
  });

  test("ignores %matplotlib inline without a word, and other settings with one", () => {
    expect(cellProgram("%matplotlib inline")).toMatchObject({ code: "pass", notes: [] });
    expect(cellProgram("%matplotlib qt")).toMatchObject({ code: "pass", notes: [expect.any(String)] });
    expect(cellProgram("%load_ext autoreload\n%autoreload 2")).toMatchObject({ code: "pass\npass" });
  });

  test("writes a file, displays HTML, times and captures", () => {
    expect(codeOf('%%writefile "a b.txt"\nx\n')).toContain('open("a b.txt", "w", encoding="utf-8").write("x\\n")');
    expect(codeOf("%%html\n<b>")).toBe('display({"text/html": "<b>"}, raw=True)');
    expect(cellProgram("%%time\nx")).toMatchObject({ code: "\nx", isTimed: true });
    expect(cellProgram("%%capture\n!ls")).toMatchObject({ isCaptured: true, needsShell: true });
  });

  test("asks for help with a question mark", () => {
    expect(codeOf("len?")).toBe("help(len)");
    expect(codeOf("?x.y")).toBe("help(x.y)");
    expect(codeOf("x = 'why?'")).toBe("x = 'why?'");
    expect(codeOf("# why?")).toBe("# why?");
  });

  test.each([
    ["x\n%nope 1", 2, "%nope"],
    ["\n%%R\nx", 2, "%%R"],
    ["%load_ext sql", 1, "%load_ext sql"],
    ["x\n%%bash", 2, "%%bash"],
    ["%%capture out\nx", 1, "%%capture out"],
  ])("refuses the magic in %j with its line", (source, line, name) => {
    expect(cellProgram(source)).toEqual({ kind: "refused", line, problem: expect.stringContaining(name) });
  });

  test("refuses a cell that is longer than a run may be", () => {
    expect(cellProgram("\n".repeat(3_000_000).concat("x"))).toMatchObject({ kind: "refused" });
  });

  test("takes the cells of a bash notebook as they are", () => {
    expect(cellProgram("%%x", "bash")).toMatchObject({ language: "bash", code: "%%x" });
  });
});
