import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { FakeRunner } from "../fakes/fake-runner.ts";
import { type TestGateway, TestGateways } from "../support/gateways.ts";
import { noPostgres, type PostgresServer, startPostgres } from "../support/postgres.ts";
import { noBrowser, openDashboard, useBrowser } from "./open-dashboard.ts";

describe.skipIf(noBrowser !== undefined || noPostgres !== undefined)("the dashboard of one of two gateways", () => {
  const browser = useBrowser();
  let server: PostgresServer;
  let gateways: TestGateways;
  let own: TestGateway;
  let other: TestGateway;
  let token: string;

  beforeAll(async () => {
    server = await startPostgres();
    const runners = () => [
      new FakeRunner({
        program: (run) => {
          run.print("stdout", `printed by ${run.code}\n`);
          return {};
        },
      }),
    ];
    gateways = await TestGateways.open({ url: await server.newDatabase(), runners });
    [own, other] = await Promise.all([gateways.start(), gateways.start()]);
    token = await gateways.token("tenant");
  });
  afterAll(async () => {
    await gateways?.[Symbol.asyncDispose]();
    await server?.[Symbol.asyncDispose]();
  });

  test("the page of a session that another gateway has shows what others run there, as it happens", async () => {
    const there = other.client(token);
    await there.session("elsewhere");
    const page = await openDashboard(browser(), own.client(token), { at: "/sessions/elsewhere/timeline" });
    await page.getByText("No runs yet").waitFor();
    await page.getByText("Live", { exact: true }).waitFor();
    await there.run("elsewhere", "somebody");
    await page.getByText("printed by somebody").waitFor();
    expect(own.codecell.aliveIds()).toEqual([]);
  });

  test("the list has sessions that another gateway opens, and loses those that it closes, without a reload", async () => {
    const there = other.client(token);
    const page = await openDashboard(browser(), own.client(token));
    await page.getByRole("heading", { name: "Sessions" }).waitFor();
    await page.getByText("Live", { exact: true }).waitFor();
    await there.session("new-there");
    const row = page.getByRole("link", { name: "new-there" });
    await row.waitFor();
    await there.call("DELETE", "/v1/sessions/new-there");
    await row.waitFor({ state: "detached" });
  });

  test("from a session back to the list, the page follows all sessions of its gateway again", async () => {
    const here = own.client(token);
    await here.session("mine");
    const page = await openDashboard(browser(), here, { at: "/sessions/mine/timeline" });
    await page.getByText("No runs yet").waitFor();
    await page.getByRole("link", { name: "Sessions", exact: true }).first().click();
    await page.getByRole("link", { name: "mine" }).waitFor();
    await here.session("mine-too");
    await page.getByRole("link", { name: "mine-too" }).waitFor();
  });
});
