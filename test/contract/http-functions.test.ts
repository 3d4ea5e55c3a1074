import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { processRunner } from "../../src/runners/process/runner.ts";
import { type TestClient, TestService } from "../support/http-service.ts";
import { skipsProcess } from "../support/process-cells.ts";

const price = {
  ...{ name: "price", description: "The price of a fruit." },
  input: { type: "object", properties: { fruit: { type: "string" } }, required: ["fruit"] },
};

describe.skipIf(skipsProcess)("functions of an HTTP client", () => {
  let service: TestService;
  let client: TestClient;
  let other: TestClient;
  beforeAll(async () => {
    service = await TestService.open({ runners: [processRunner()], policy: { proc: { timeout: "20s" } } });
    client = await service.client("alice");
    other = await service.client("bob");
    await client.session("s");
    await other.session("s");
  });
  afterAll(() => service?.[Symbol.asyncDispose]());

  const send = (who: TestClient, method: string, path: string, body?: unknown) =>
    who.fetch(`/v1/sessions/s/${path}`, {
      method,
      headers: { "content-type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  const calls = async () => {
    const answer = await (await send(client, "GET", "calls?wait=10")).json();
    return (answer as { calls: [{ call: number }] }).calls;
  };

  test("a program's calls are delivered once and answered with values or errors", async () => {
    expect((await send(client, "PUT", "functions", { functions: [price] })).status).toBe(204);
    const code = "try:\n    price('pear')\nexcept ValueError as error:\n    print(error)\nprice(fruit='apple') * 2";
    const result = client.run("s", code);
    const [first] = await calls();
    expect(first).toMatchObject({ name: "price", arguments: { fruit: "pear" } });
    expect(await (await send(client, "GET", "calls")).json()).toEqual({ calls: [] });
    const error = { type: "ValueError", message: "sold out" };
    expect((await send(client, "POST", `calls/${first.call}`, { error })).status).toBe(204);
    const [second] = await calls();
    expect((await send(client, "POST", `calls/${second.call}`, { value: 1.2 })).status).toBe(204);
    expect((await result).json).toMatchObject({ status: "ok", stdout: "sold out\n", value: "2.4" });
    expect((await send(client, "POST", `calls/${second.call}`, { value: 1.2 })).status).toBe(404);
  });

  test("another tenant neither sees nor answers the calls", async () => {
    await send(client, "PUT", "functions", { functions: [price] });
    const result = client.run("s", "price('plum')");
    const [call] = await calls();
    expect(await (await send(other, "GET", "calls")).json()).toEqual({ calls: [] });
    expect((await send(other, "POST", `calls/${call.call}`, { value: 666 })).status).toBe(404);
    await send(client, "POST", `calls/${call.call}`, { value: 3 });
    expect((await result).json.value).toBe("3");
  });

  test("an answer with an integer that would be rounded is refused, and the call still waits for one", async () => {
    await send(client, "PUT", "functions", { functions: [price] });
    const result = client.run("s", "price('kiwi')");
    const [{ call }] = await calls();
    const headers = { "content-type": "application/json" };
    const body = '{"value": [9007199254740993]}';
    const refused = await client.fetch(`/v1/sessions/s/calls/${call}`, { method: "POST", headers, body });
    expect([refused.status, await refused.text()]).toEqual([
      400,
      expect.stringContaining("9007199254740993 is too large"),
    ]);
    await send(client, "POST", `calls/${call}`, { value: "9007199254740993" });
    expect((await result).json.value).toBe("'9007199254740993'");
  });

  test("a call that nobody answers times out in the program", async () => {
    await send(client, "PUT", "functions", { functions: [{ ...price, timeout: 0.2 }] });
    const result = await client.run("s", "try:\n    price('fig')\nexcept TimeoutError as error:\n    print(error)");
    expect(result.json.stdout).toBe("price took longer than 200 ms\n");
    expect(await (await send(client, "GET", "calls")).json()).toEqual({ calls: [] });
  });

  test("a function of kind submit ends the run once it is answered, and the variables stay", async () => {
    const submit = { name: "SUBMIT", description: "Ends the run.", kind: "submit" };
    const input = { type: "object", properties: { answer: {} }, required: ["answer"] };
    await send(client, "PUT", "functions", { functions: [{ ...submit, input }] });
    const result = client.run("s", "x = 5\nprint('before')\nSUBMIT(answer={'n': x})\nprint('after')");
    const [call] = await calls();
    expect(call).toMatchObject({ name: "SUBMIT", arguments: { answer: { n: 5 } } });
    await send(client, "POST", `calls/${call.call}`, { value: null });
    expect((await result).json).toMatchObject({ status: "ok", state: "kept", exit_code: 0, stdout: "before\n" });
    expect((await client.run("s", "x")).json.value).toBe("5");
  });

  test("a schema with additionalProperties makes a function that takes any keyword argument", async () => {
    const input = {
      type: "object",
      properties: { a: { type: "integer" } },
      required: ["a"],
      additionalProperties: true,
    };
    await send(client, "PUT", "functions", { functions: [{ name: "open_one", description: "Anything.", input }] });
    const result = client.run("s", "open_one(1, b='two', c=[3])");
    const [call] = await calls();
    expect(call).toMatchObject({ arguments: { a: 1, b: "two", c: [3] } });
    await send(client, "POST", `calls/${call.call}`, { value: "done" });
    expect((await result).json.value).toBe("'done'");
    await send(client, "PUT", "functions", { functions: [price] });
    expect((await client.run("s", "price('fig', b=1)")).json.error).toMatchObject({ type: "TypeError" });
  });

  test("a declaration that no program could use is refused and changes nothing", async () => {
    await send(client, "PUT", "functions", { functions: [price] });
    for (const bad of [
      { ...price, name: "print" },
      { ...price, name: "a-b" },
      { ...price, input: { type: "string" } },
      { ...price, input: { type: "object", properties: { fruit: { pattern: "^(a+)+$" } } } },
      { ...price, output: { items: { $ref: "#/$defs/a" }, $defs: { a: { items: { $ref: "#/$defs/a" } } } } },
    ]) {
      expect((await send(client, "PUT", "functions", { functions: [bad] })).status).toBe(400);
    }
    expect((await send(client, "PUT", "functions", { functions: [price, price] })).status).toBe(400);
    expect((await client.run("s", "price.__doc__")).json.value).toBe("'The price of a fruit.'");
  });

  describe("with large arguments", () => {
    const rows = { type: "array", items: { type: "object", properties: { a: { type: "string" } }, required: ["a"] } };
    const keep = (items: object) => ({
      ...{ name: "keep", description: "Keeps rows." },
      input: { type: "object", properties: { rows: items }, required: ["rows"] },
    });

    test("that are all wrong are refused with the first few, and not described one by one", async () => {
      await send(client, "PUT", "functions", { functions: [keep(rows)] });
      const code = "try: keep([{}] * 240_000)\nexcept TypeError as error: print(error)";
      const { json } = await client.run("s", code);
      expect(json.stdout).toMatch(/^keep: rows\.0\.a: it is missing; .*and at least 92 more\n$/);
    });
  });
});
