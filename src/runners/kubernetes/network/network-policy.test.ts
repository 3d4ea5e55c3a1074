import { expect, test } from "vitest";
import { closedPolicy, type FoundPolicy, policyState } from "./network-policy.ts";

const labels = { "codecell/network": "none", "codecell/role": "cell" };
const made = closedPolicy();
const closed = { ...made, metadata: { ...made.metadata, uid: "u", generation: 1 } } as FoundPolicy;
const other = (podSelector: object, spec: object): FoundPolicy =>
  ({ metadata: { name: "other", uid: "o", generation: 1 }, spec: { podSelector, ...spec } }) as FoundPolicy;

test("the policy of codecell closes cells in both directions", () => {
  expect(policyState([closed], labels)).toEqual({ isClosed: true, openedBy: [], identity: "u/1" });
  expect(policyState([], labels)).toEqual({ isClosed: false, openedBy: [], identity: undefined });
  const half = { ...closed, spec: { ...closed.spec, policyTypes: ["Ingress"] } };
  expect(policyState([half], labels).isClosed).toBe(false);
});

test.each([
  ["every pod", {}],
  ["cells by label", { matchLabels: { "codecell/role": "cell" } }],
  ["cells by expression", { matchExpressions: [{ key: "codecell/role", operator: "In", values: ["cell"] }] }],
  ["pods without another label", { matchExpressions: [{ key: "app", operator: "DoesNotExist" }] }],
  ["nobody knows which pods", { matchExpressions: [{ key: "x", operator: "Gt", values: ["1"] }] }],
])("a policy that allows names for %s opens cells, because policies add up", (_, selector) => {
  const dns = other(selector, { egress: [{ ports: [{ port: 53 }] }] });
  expect(policyState([closed, dns], labels)).toMatchObject({ isClosed: true, openedBy: ["other"] });
});

test("policies for other pods, and those that allow nothing, open nothing", () => {
  const elsewhere = other({ matchLabels: { app: "web" } }, { egress: [{}] });
  const excluded = other(
    { matchExpressions: [{ key: "codecell/network", operator: "NotIn", values: ["none"] }] },
    { ingress: [{}] },
  );
  const denying = other({}, { policyTypes: ["Egress"] });
  expect(policyState([closed, elsewhere, excluded, denying], labels).openedBy).toEqual([]);
});
