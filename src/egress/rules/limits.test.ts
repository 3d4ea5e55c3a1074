import { expect, test } from "vitest";
import { parsePolicy } from "../../policy/file/parse-policy.ts";
import { defaultQuota, quotaOf } from "./limits.ts";

test("egress rules without limits get the defaults of the policy", () => {
  expect(quotaOf(parsePolicy({}).net)).toEqual(defaultQuota);
  expect(quotaOf({})).toEqual(defaultQuota);
  expect(quotaOf(parsePolicy({ net: { sent: "1MiB", connections: 2 } }).net)).toEqual({
    ...defaultQuota,
    sentBytes: 2 ** 20,
    connections: 2,
  });
});
