import { z } from "zod";
import { allows } from "../../../service/tenants/scope.ts";
import { statisticsSampleSchema } from "../../../service/wire/statistics.ts";
import { HttpError } from "../answers/error-status.ts";
import { defineRoute } from "../route.ts";
import { sampleEveryMs } from "../statistics.ts";
import { tenantStatisticsSchema } from "../tenant-statistics.ts";

export const getStatisticsRoute = defineRoute({
  method: "GET",
  path: "/v1/statistics",
  id: "getStatistics",
  summary: "Get the metrics of the service over the last hour",
  description:
    "The numbers of `/metrics`, one sample every 5 seconds. Samples are about the whole service; `tenants` has this token, or all of them with `namespaces=all`.",
  tag: "service",
  scope: "metrics",
  query: z.strictObject({
    namespaces: z.enum(["own", "all"]).default("own").describe("`all`: of every tenant; needs the scope `admin`"),
    limit: z.coerce.number().int().min(1).max(720).default(720).describe("how many of the last samples"),
  }),
  replies: {
    200: {
      description: "oldest first",
      schema: z.strictObject({
        interval_ms: z.int(),
        samples: z.array(statisticsSampleSchema),
        tenants: z.array(tenantStatisticsSchema),
      }),
    },
  },
  async handle({ query, service, tenant, scopes }) {
    const isAll = query.namespaces === "all";
    if (isAll && !allows(scopes, "admin")) {
      throw new HttpError("forbidden", "only a token with the scope admin can see other tenants", {
        hint: "leave out `namespaces`",
      });
    }
    const samples = service.statistics.list(query.limit);
    // Without a token, as `--open-metrics` allows it, there is no tenant.
    const tenants = isAll || tenant ? await service.tenantStatistics(isAll ? undefined : tenant.namespace) : [];
    return { json: { interval_ms: sampleEveryMs, samples, tenants } };
  },
});
