import { expect, test } from "vitest";
import { editMcpToml } from "./mcp-toml.ts";

const entry = { command: "/usr/bin/node", args: ["/opt/codecell.js", "mcp"] };
const edit = (text: string | undefined, next: typeof entry | undefined = entry) =>
  editMcpToml(text, "codecell", next, "config.toml");
const remove = (text: string | undefined) => editMcpToml(text, "codecell", undefined, "config.toml");

const table = '[mcp_servers.codecell]\ncommand = "/usr/bin/node"\nargs = ["/opt/codecell.js", "mcp"]\n';

/** A file as people have it, with every kind of value. */
const own = `# my settings
model = "gpt-5" # the default
approval = 'on-request'
notify = [ "a", # first
  'b]', ]
note = """
[mcp_servers.codecell]
not a table \\""" end"""
raw = '''it's [x]'''
started = 1979-05-27 07:32:00Z
limits = { cpu = 1.5, names = ["x", "y"] }
"quoted key".'other' = +1_000

[mcp_servers.docs]
command = "uvx"

[mcp_servers.docs.env]
KEY = "value"

[[profiles]]
name = "x"
`;

test("the table is appended to a file, which stays as it was, and removing it restores the file", () => {
  const added = edit(own) ?? "";
  expect(added).toBe(`${own}\n${table}`);
  expect(edit(added)).toBe(added);
  expect(remove(added)).toBe(own);
});

test("a missing or empty file becomes the table alone", () => {
  expect(edit(undefined)).toBe(table);
  expect(edit("")).toBe(table);
  expect(remove(undefined)).toBeUndefined();
  expect(remove("")).toBe("");
});

test("a file without a line break at its end, and one with Windows line ends, are kept", () => {
  expect(edit("a = 1")).toBe(`a = 1\n\n${table}`);
  expect(edit("a = 1\r\n")).toBe(`a = 1\r\n\r\n${table.replaceAll("\n", "\r\n")}`);
});

test("of a table that is there, only our keys change", () => {
  const before = `x = 1
[ mcp_servers . "codecell" ] # mine
# a comment
startup_timeout_sec = 20
args = [
  "old", # why
]
command = 'old' # too

[mcp_servers.codecell.env]
A = "b"

# of the next
[other]
`;
  const after = edit(before) ?? "";
  expect(after).toBe(
    before
      .replace('[\n  "old", # why\n]', '["/opt/codecell.js", "mcp"]')
      .replace("'old' # too", '"/usr/bin/node" # too'),
  );
  expect(edit(after)).toBe(after);
  expect(remove(after)).toBe("x = 1\n\n# of the next\n[other]\n");
});

test("a server at an address becomes one that is started", () => {
  const before = '[mcp_servers.codecell]\nurl = "http://127.0.0.1:1/mcp"\nenabled = true\n';
  expect(edit(before)).toBe(
    '[mcp_servers.codecell]\ncommand = "/usr/bin/node"\nargs = ["/opt/codecell.js", "mcp"]\nenabled = true\n',
  );
});

test("a name that only starts like ours is another server", () => {
  const before = '[mcp_servers.codecell2]\ncommand = "x"\n';
  expect(edit(before)).toBe(`${before}\n${table}`);
  expect(remove(before)).toBe(before);
});

test("a path with quotes, backslashes and control characters is written as a TOML string", () => {
  const text = edit(undefined, { command: 'C:\\a "b"\u007f\n', args: [] });
  expect(text).toContain('command = "C:\\\\a \\"b\\"\\u007f\\n"\n');
  expect(edit(text, { command: 'C:\\a "b"\u007f\n', args: [] })).toBe(text);
});

test.each([
  ["mcp_servers = {}", "line 1: mcp_servers is written in a form"],
  ['mcp_servers.codecell.command = "x"', "line 1"],
  ['[mcp_servers]\ncodecell = { command = "x" }', "line 2"],
  ['[mcp_servers]\ncodecell.command = "x"', "line 2"],
  ["[[mcp_servers]]", "line 1"],
  ["[[mcp_servers.codecell]]", "line 1"],
  ["[mcp_servers.codecell]\n[mcp_servers.codecell]", "there twice"],
  ["a = ", "it is not TOML (line 1): a value is missing"],
  ["a = 1 2", "it is not TOML"],
  ["a", "an equals sign is missing"],
  ["[a", "does not end"],
  ['a = "x', "a string is malformed"],
  ['a = """x', "a string does not end"],
  ["a = [1 2]", "a comma is missing"],
  [`a = ${"[".repeat(10_000)}`, "nested too deeply"],
  ["{", "a key is missing"],
])("the text %j is refused, whether the server is added or removed", (text, why) => {
  expect(() => edit(text)).toThrow(why);
  expect(() => remove(text)).toThrow("config.toml was not changed");
});

test("what only a server at an address has is removed with its sub-tables and dotted keys", () => {
  const text = `[mcp_servers.codecell]\nurl = "https://x"\nhttp_headers.Authorization = "a"\nkeep = 1\n
[mcp_servers.codecell.env_http_headers]\nA = "B"\n\n[mcp_servers.docs]\ncommand = "uvx"\n`;
  const next = edit(text) ?? "";
  expect(next).not.toMatch(/url|headers|A = "B"/);
  expect(next).toMatch(/keep = 1[\s\S]*\[mcp_servers\.docs\]\ncommand = "uvx"\n$/);
  expect(edit(next)).toBe(next);
});

test.each(["command.x = 1\n", "[mcp_servers.codecell.args]\nk = 1\n"])(
  "a table whose command or args is no plain value (%j) is refused",
  (rest) => {
    expect(() => edit(`[mcp_servers.codecell]\n${rest}`)).toThrow("is not a plain value");
  },
);
