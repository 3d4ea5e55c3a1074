import { describe, expect, onTestFinished, test } from "vitest";
import { formatCount } from "../../dashboard/src/parts/text/format.ts";
import { processRunner } from "../../src/runners/process/runner.ts";
import { wasmRunner } from "../../src/runners/wasm/runner.ts";
import { TestService } from "../support/http-service.ts";
import { skipsProcess } from "../support/process-cells.ts";
import { fakeApi, sendEvent } from "./fake-api.ts";
import { fakeSession, fakeStatistics, listAnswers } from "./list-answers.ts";
import { noBrowser, openDashboard, useBrowser } from "./open-dashboard.ts";

const browser = useBrowser();

async function openService(): Promise<TestService> {
  const service = await TestService.open({ runners: [skipsProcess ? wasmRunner() : processRunner()] });
  onTestFinished(() => service[Symbol.asyncDispose]());
  return service;
}

describe.skipIf(noBrowser)("the list of sessions", () => {
  test("an empty list says how to start, and a session made with the button opens", async () => {
    const service = await openService();
    const client = await service.client("alice");
    const page = await openDashboard(browser(), client);
    await page.getByText("No sessions yet").waitFor();
    await page.getByText(`${client.url}/mcp`).waitFor();
    await page.getByRole("button", { name: "New session" }).press("Enter");
    await page.getByLabel("Name").fill("not allowed/");
    await page.keyboard.press("Enter");
    await page.getByRole("alert").waitFor();
    await page.getByLabel("Name").fill("work");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "work" }).waitFor();
    await page.getByRole("link", { name: "Sessions" }).click();
    const row = page.getByRole("row").filter({ hasText: "work" });
    await row.getByText("live").waitFor();
    // live: a run elsewhere, and a second session, appear without a reload
    await client.run("work", "x = 1");
    await row.getByRole("cell", { name: "1", exact: true }).waitFor();
    await client.session("second");
    await page.getByRole("link", { name: "second" }).waitFor();
    await client.call("DELETE", "/v1/sessions/second");
    await page.getByRole("link", { name: "second" }).waitFor({ state: "detached" });
    await page.getByRole("link", { name: "work" }).press("Enter");
    await page.getByRole("heading", { name: "work" }).waitFor();
  });

  test("two tenants do not see each other, and an admin sees and opens both", async () => {
    const service = await openService();
    const [alice, bob] = [await service.client("alice"), await service.client("bob")];
    const admin = await service.client("root", { scopes: ["admin"] });
    await Promise.all([alice.session("of-alice"), bob.session("of-bob")]);
    const hers = await openDashboard(browser(), alice);
    await hers.getByRole("link", { name: "of-alice" }).waitFor();
    expect(await hers.getByText("of-bob").count()).toBe(0);
    expect(await hers.getByRole("columnheader", { name: "Tenant" }).count()).toBe(0);
    const all = await openDashboard(browser(), admin);
    await all.getByRole("link", { name: "of-alice" }).waitFor();
    await all.getByRole("link", { name: "of-bob" }).waitFor();
    await all.getByLabel("Filter by tenant").selectOption("bob");
    await all.getByRole("link", { name: "of-alice" }).waitFor({ state: "detached" });
    // events of the other tenant reach the admin, and not alice
    await bob.session("later-of-bob");
    await all.getByRole("link", { name: "later-of-bob" }).click();
    await all.getByText(/live/).first().waitFor();
    expect(all.url()).toContain("namespace=ns-");
    await alice.session("later-of-alice");
    await hers.getByRole("link", { name: "later-of-alice" }).waitFor();
    expect(await hers.getByText("later-of-bob").count()).toBe(0);
  });

  test("500 sessions, from a fake list: it paints, sorts, searches and takes events without lag", async () => {
    const service = await openService();
    const client = await service.client("alice");
    const prepare = (page: Parameters<typeof fakeApi>[0]) => fakeApi(page, listAnswers({ sessions: 500 }));
    const page = await openDashboard(browser(), client, { prepare });
    await page.getByText("500 sessions").waitFor();
    const rows = page.locator("tbody tr");
    expect(await rows.count()).toBe(500);
    expect(await rows.first().textContent()).toContain("s-499");
    const before = await rows.nth(300).elementHandle();
    const { namespace } = fakeSession(499);
    const ms: number[] = [];
    for (let runs = 1000; runs < 1010; runs++) {
      const session = { ...fakeSession(499), runs };
      ms.push(await sendEvent(page, { type: "session.changed", session_id: "s-499", namespace, session }));
      await rows.first().getByText(formatCount(runs)).waitFor();
    }
    expect(await before?.evaluate((row) => row.isConnected)).toBe(true);
    ms.sort((a, b) => a - b);
    expect(ms[5]).toBeLessThan(500); // 20 to 40 ms on an idle machine
    await page.getByRole("button", { name: "Session", exact: true }).click();
    await rows.first().getByText("s-0", { exact: true }).waitFor();
    await page.getByLabel("Search sessions").fill("s-49");
    await page.getByText("11 of 500 sessions").waitFor();
    await page.getByLabel("Filter by state").selectOption("busy");
    await page.getByText("2 of 500 sessions").waitFor();
    await page.getByLabel("Search sessions").fill("nothing like this");
    await page.getByText("No session matches.").waitFor();
  });
});

describe.skipIf(noBrowser)("the service", () => {
  test("without the scope the page says how to get one, and with it there are plots, live", async () => {
    const service = await openService();
    const plain = await openDashboard(browser(), await service.client("alice"), { at: "/service" });
    await plain.getByText("codecell token create NAME --scopes run,metrics").waitFor();
    const client = await service.client("root", { scopes: ["admin"] });
    const prepare = (page: Parameters<typeof fakeApi>[0]) => fakeApi(page, listAnswers({ sessions: 3 }));
    const page = await openDashboard(browser(), client, { at: "/service", prepare });
    await page.locator(".plot canvas").nth(7).waitFor();
    const runs = page.locator(".plot").filter({ hasText: "Runs per second" });
    await runs.getByText("As a table").click();
    expect(await runs.getByRole("row").count()).toBe(21);
    await sendEvent(page, { type: "statistics", sample: { ...fakeStatistics(120), runs: { ok: 4321 } } });
    await runs.getByRole("cell", { name: "864.2" }).waitFor();
    await page.getByRole("row", { name: /bob.*900/ }).waitFor();
  });
});

describe.skipIf(noBrowser)("panels of a session", () => {
  test("network, limits and models say what to do where there is nothing", async () => {
    const service = await openService();
    const client = await service.client("alice");
    await client.session("work");
    const page = await openDashboard(browser(), client, { at: "/sessions/work/network" });
    await page.getByText("The network is closed").waitFor();
    await page.getByText("allowlist: [api.example.com]").waitFor();
    await page.getByRole("link", { name: "Models" }).click();
    await page.getByText("llm.models").waitFor();
    await page.getByText("ANTHROPIC_API_KEY", { exact: true }).waitFor();
    await page.getByRole("link", { name: "Limits" }).click();
    await page.getByText("No run has ended yet.").waitFor();
    await client.run("work", "print(1)");
    await page.getByRole("region", { name: "Usage of each run" }).getByRole("rowheader", { name: "1" }).waitFor();
  });

  test("network, limits and models show what a fake session did", async () => {
    const service = await openService();
    const client = await service.client("alice");
    const prepare = (page: Parameters<typeof fakeApi>[0]) => fakeApi(page, listAnswers({ sessions: 3 }));
    const page = await openDashboard(browser(), client, { at: "/sessions/s-1/network", prepare });
    await page.getByText("3 connections").waitFor();
    await page.getByLabel("Filter by verdict").selectOption("denied");
    await page.getByText("2 connections").waitFor();
    await page.getByLabel("Search the network log").fill("evil");
    await page.getByRole("row", { name: /evil\.example:443 refused net\.allowlist/ }).waitFor();
    await page.getByRole("link", { name: "Limits" }).click();
    const memory = page.getByRole("meter", { name: "Memory" });
    expect(await memory.getAttribute("aria-valuetext")).toBe("100 MiB of 128 MiB");
    await page.locator(".plot canvas").nth(1).waitFor();
    await page.getByRole("link", { name: "Models" }).click();
    await page.locator("span", { hasText: "$0.0360 of $0.5000" }).waitFor();
    expect(await page.locator(".call-tree ul ul > li").count()).toBe(2);
    await page.getByRole("button", { name: "question -> answer" }).click();
    await page.getByText("part -> sum").waitFor();
  });
});
