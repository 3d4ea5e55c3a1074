import { Gauge } from "../../parts/plot/gauge.tsx";
import { formatCount } from "../../parts/text/format.ts";
import { formatUsd } from "../../parts/text/or-dash.ts";
import type { SessionModels } from "./model-calls.ts";

export function SpendGauges({ spend }: { spend: SessionModels["spend"] }) {
  const tokens = `${formatCount(spend.input_tokens)} tokens in, ${formatCount(spend.output_tokens)} out`;
  return (
    <div class="gauges">
      <Gauge name="Spent" used={spend.cost_usd} limit={spend.budget_usd} shown={formatUsd} note={tokens} />
      <Gauge name="Calls" used={spend.calls} limit={spend.max_calls} shown={formatCount} />
    </div>
  );
}
