import { describe, expect, onTestFinished, test, vi } from "vitest";
import { parseCsv } from "./csv.ts";
import { decodeHostFile } from "./decode-host-file.ts";
import type { HostFileForm } from "./host-file-form.ts";

function decoded(text: string | Uint8Array, form: HostFileForm): unknown {
  const { format, body } = decodeHostFile(Buffer.from(text), form);
  expect(format).toBe("json");
  return JSON.parse(Buffer.from(body).toString());
}

function problem(text: string | Uint8Array, form: HostFileForm): string {
  try {
    decodeHostFile(Buffer.from(text), form);
  } catch (error) {
    expect(error).toMatchObject({ code: "usage", details: { line: expect.any(Number) } });
    return (error as Error).message;
  }
  return "fine";
}

describe("a host file", () => {
  test("is decoded to a string, a list of lines, a value or a list of values", () => {
    expect(decoded("a\nb\n", "text")).toBe("a\nb\n");
    expect(decoded("a\r\nb\n\nc", "lines")).toEqual(["a", "b", "", "c"]);
    expect(decoded("", "lines")).toEqual([]);
    expect(decoded('{"a": [1, null]}', "json")).toEqual({ a: [1, null] });
    expect(decoded('{"a":1}\n\n[2]\r\n"x"', "jsonl")).toEqual([{ a: 1 }, [2], "x"]);
    expect(decoded("", "jsonl")).toEqual([]);
  });

  test("loses its byte order mark, except when it is loaded as bytes", () => {
    for (const form of ["text", "lines", "json", "jsonl", "csv"] as const) {
      expect(JSON.stringify(decoded("\ufeff1\n", form))).not.toContain("\ufeff");
    }
    expect(Buffer.from(decodeHostFile(Buffer.from("\ufeffx"), "bytes").body)).toEqual(Buffer.from("\ufeffx"));
  });

  test("keeps numbers that JavaScript would round", () => {
    const text = '{"id":9007199254740993}';
    expect(Buffer.from(decodeHostFile(Buffer.from(text), "json").body).toString()).toBe(text);
    expect(Buffer.from(decodeHostFile(Buffer.from(`${text}\n`), "jsonl").body).toString()).toBe(`[${text}]`);
  });

  test("is passed on unchanged when it is bytes or a long text", () => {
    const bytes = Buffer.alloc(3_000_000, 0xff);
    expect(decodeHostFile(bytes, "bytes").format).toBe("bytes");
    expect(decodeHostFile(bytes, "bytes").body).toBe(bytes);
    const text = Buffer.alloc(3_000_000, "ä");
    expect(decodeHostFile(text, "text").format).toBe("text");
    expect(decodeHostFile(text, "text").body).toBe(text);
  });

  test.each<[string | Uint8Array, HostFileForm, string]>([
    [Buffer.from([0x61, 10, 0x62, 10, 0xff, 10]), "text", "line 3: this is not UTF-8"],
    [Buffer.from([0xc3]), "csv", "line 1: this is not UTF-8"],
    ['{\n "a": 1,\n}', "json", "line 3, column 1: this is not JSON"],
    ["abc", "json", "line 1, column 1: this is not JSON"],
    ["[1, 2", "json", "line 1, column 6: this is not JSON"],
    ['["a\nb"]', "json", "line 1, column 4: this is not JSON"],
    ["[NaN]", "json", "line 1, column 2: this is not JSON"],
    ["[01]", "json", "line 1, column 3: this is not JSON"],
    ['{"a" 1}', "json", "line 1, column 6: this is not JSON"],
    ["{1: 2}", "json", "line 1, column 2: this is not JSON"],
    ['["\\x"]', "json", "line 1, column 3: this is not JSON"],
    ["[1] 2", "json", "line 1, column 5: this is not JSON"],
    ["", "json", "line 1, column 1: this is not JSON"],
    ['{"a":1}\n\n{"b":}\n', "jsonl", "line 3, column 6: this is not JSON"],
    ["a,b\n1,2\n1,2,3\n", "csv", "line 3: the row has 3 fields, but the first row has 2"],
    ['a,b\n"x\ny",2\n1\n', "csv", "line 4: the row has 1 fields, but the first row has 2"],
    ['a,b\n1,"2', "csv", "line 2: a quoted field is not closed"],
    ['a,b\n1,"2"x', "csv", 'line 2: expected a comma after a closing quote, found "x"'],
    ['a,b\n1,2"3"', "csv", "line 2: a quote inside a field that does not start with one"],
    ["a,b,a\n", "csv", 'line 1: two columns are named "a"'],
  ])("a host file that is malformed (%j as %s) is refused: %s", (text, form, message) =>
    expect(problem(text, form)).toBe(message),
  );

  test("a host file with a very long field or string is read", () => {
    const long = "x".repeat(20_000_000);
    expect(decoded(`a\n"${long}"\n`, "csv")).toEqual([{ a: long }]);
    expect(problem(`["${long}"`, "json")).toContain("line 1, column 20000004");
  });

  test("a host file of nested arrays is checked without the parser, which would take gigabytes", () => {
    const parser = vi.spyOn(JSON, "parse");
    onTestFinished(() => parser.mockRestore());
    const nested = Buffer.from("[".repeat(100_000) + "]".repeat(100_000));
    expect(decodeHostFile(nested, "json").body).toEqual(nested);
    expect(decodeHostFile(nested, "jsonl").body.length).toBe(nested.length + 2);
    expect(parser).not.toHaveBeenCalled();
  });
});

describe("CSV", () => {
  test("with long names and short rows is refused before it becomes gigabytes", () => {
    const names = Array.from({ length: 1000 }, (_, index) => `${index}`.padEnd(1000, "x")).join(",");
    const text = `${names}\n${`${",".repeat(999)}\n`.repeat(300)}`;
    expect(text.length).toBeLessThan(1_500_000);
    const refused = {
      code: "too_large",
      hint: expect.stringContaining("load it as text"),
      details: { maxBytes: 2 ** 28 },
    };
    expect(() => decodeHostFile(Buffer.from(text), "csv")).toThrow(expect.objectContaining(refused));
  });

  test("with more columns than any table has is refused with its line", () => {
    const refused = { code: "too_large", message: "line 2: a row can have at most 100000 fields" };
    expect(() => decodeHostFile(Buffer.from(`a\n${",".repeat(100_000)}\n`), "csv")).toThrow(
      expect.objectContaining(refused),
    );
  });

  test("says the line of a problem after a field with many line ends", () => {
    expect(problem('a,b\n"1\r\n2\r3\n4",5\n6\n', "csv")).toContain("line 6:");
  });

  test("becomes objects with the names of the first row as keys", () => {
    expect(decoded('name,"the, value"\r\n"a ""b""","1\r\n2"\r\nc,\r\n', "csv")).toEqual([
      { name: 'a "b"', "the, value": "1\r\n2" },
      { name: "c", "the, value": "" },
    ]);
    expect(decoded("a,b", "csv")).toEqual([]);
    expect(decoded("a\n\n1\n\n", "csv")).toEqual([{ a: "1" }]);
  });

  test("keeps the order of its columns and a column named __proto__", () => {
    const { body } = decodeHostFile(Buffer.from("b,1,__proto__\nx,y,z\n"), "csv");
    expect(Buffer.from(body).toString()).toBe('[{"b":"x","1":"y","__proto__":"z"}]');
  });

  test.each([
    ["a,b", [["a", "b"]]],
    ["a,", [["a", ""]]],
    [",", [["", ""]]],
    ['""', [[""]]],
    ["a\rb", [["a"], ["b"]]],
    ['"a""",b\n', [['a"', "b"]]],
    ["", []],
    ["\n\n", []],
  ])("%j has the rows %j", (text, rows) => expect([...parseCsv(text)].map(({ fields }) => fields)).toEqual(rows));

  test("reads back any table that was written correctly", () => {
    let state = 5;
    const random = (limit: number) => {
      state = (state * 1_664_525 + 1_013_904_223) % 2 ** 32;
      return Math.floor((state / 2 ** 32) * limit);
    };
    const characters = ["a", ",", '"', "\n", "\r\n", "ü", " ", "", "\r"];
    for (let round = 0; round < 3000; round++) {
      const columns = 1 + random(3);
      const rows = Array.from({ length: 1 + random(4) }, () =>
        Array.from({ length: columns }, () =>
          Array.from({ length: random(5) }, () => characters[random(characters.length)]).join(""),
        ),
      );
      const write = (field: string) =>
        field === "" || /[",\r\n]/.test(field) ? `"${field.replaceAll('"', '""')}"` : field;
      const text = rows.map((row) => row.map(write).join(",")).join(random(2) ? "\n" : "\r\n");
      expect([...parseCsv(text)].map(({ fields }) => fields)).toEqual(rows);
    }
  });
});

test("the reported JSON error position is where the text stops being a prefix of valid JSON", async () => {
  const { jsonErrorOffset } = await import("./json-position.ts");
  const good = '{"a":[1,-2.5e3,true,null,"\\u00e4\\n"],"b":{}}';
  for (let at = 0; at < good.length; at++) {
    const broken = `${good.slice(0, at)}\u0001${good.slice(at)}`;
    const offset = jsonErrorOffset(broken);
    expect(offset).toBeLessThanOrEqual(at);
    expect(offset).toBeGreaterThanOrEqual(at - 6);
  }
});
