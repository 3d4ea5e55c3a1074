import type { PoolStatistics } from "../../sessions/lifecycle/warm-pool.ts";

/** Values at the moment of a scrape. */
export interface Gauges {
  readonly requests: number;
  readonly bodyBytes: number;
  readonly runs: number;
  readonly sessions: number;
  readonly tenants: number;
  readonly pool: PoolStatistics;
  /** absent: the service is alone */
  readonly gateway?: GatewayGauges | undefined;
}

/** Values of one of several gateways. */
export interface GatewayGauges {
  readonly isLeaseHeld: boolean;
  readonly peers: number;
  /** since the start: passed on to peers, got from peers, and passed on without an answer */
  readonly forwarded: { readonly sent: number; readonly received: number; readonly failed: number };
}

const boundsSeconds = [0.005, 0.025, 0.1, 0.5, 2.5, 10, 60];

/** Metrics in the Prometheus format. Labels are routes and states, never ids, so their number is limited. */
export class Metrics {
  readonly #requests = new Map<string, number>();
  readonly #runs = new Map<string, number>();
  readonly #buckets = boundsSeconds.map(() => 0);
  #seconds = 0;
  #count = 0;
  #refused = 0;

  request(method: string, route: string, status: number, durationMs: number): void {
    add(this.#requests, `method="${method}",route="${route}",status="${status}"`);
    const seconds = durationMs / 1000;
    this.#seconds += seconds;
    this.#count++;
    for (const [index, bound] of boundsSeconds.entries()) {
      if (seconds <= bound) this.#buckets[index] = (this.#buckets[index] ?? 0) + 1;
    }
  }

  runEnded(status: string): void {
    add(this.#runs, status);
  }

  /** Since the start. */
  get totals(): { readonly requests: number; readonly refused: number; readonly runs: ReadonlyMap<string, number> } {
    return { requests: this.#count, refused: this.#refused, runs: new Map(this.#runs) };
  }

  /** A request that a limit refused. */
  refused(): void {
    this.#refused++;
  }

  text(gauges: Gauges): string {
    const { rss } = process.memoryUsage();
    const families: Family[] = [
      ["codecell_http_requests_total", "counter", "Requests answered.", labelled(this.#requests)],
      ["codecell_http_refused_total", "counter", "Requests refused by a limit.", [` ${this.#refused}`]],
      ["codecell_http_requests_in_flight", "gauge", "Requests being answered.", [` ${gauges.requests}`]],
      ["codecell_http_body_bytes", "gauge", "Memory of large bodies in transfer.", [` ${gauges.bodyBytes}`]],
      ["codecell_http_request_seconds", "histogram", "Time from a request to its end.", this.#histogram()],
      ["codecell_runs_total", "counter", "Runs by how they ended.", labelled(withLabel("status", this.#runs))],
      ["codecell_runs_running", "gauge", "Runs that are running.", [` ${gauges.runs}`]],
      ["codecell_sessions_live", "gauge", "Sessions with a cell, or starting one.", [` ${gauges.sessions}`]],
      ["codecell_tenants", "gauge", "Tokens used since the start.", [` ${gauges.tenants}`]],
      ["codecell_pool_ready", "gauge", "Cells kept ready.", [` ${gauges.pool.ready}`]],
      ["codecell_pool_hits_total", "counter", "Sessions that got a ready cell.", [` ${gauges.pool.hits}`]],
      ["codecell_pool_misses_total", "counter", "Sessions that waited for a cell.", [` ${gauges.pool.misses}`]],
      ["process_resident_memory_bytes", "gauge", "Memory of this process.", [` ${rss}`]],
      ...(gauges.gateway ? gatewayFamilies(gauges.gateway) : []),
    ];
    const lines = families.flatMap(([name, type, help, samples]) => [
      `# HELP ${name} ${help}`,
      `# TYPE ${name} ${type}`,
      ...samples.map((sample) => `${name}${sample}`),
    ]);
    return `${lines.join("\n")}\n`;
  }

  #histogram(): string[] {
    const buckets = boundsSeconds.map((bound, index) => `_bucket{le="${bound}"} ${this.#buckets[index] ?? 0}`);
    return [...buckets, `_bucket{le="+Inf"} ${this.#count}`, `_sum ${this.#seconds}`, `_count ${this.#count}`];
  }
}

type Family = [name: string, type: string, help: string, samples: string[]];

function gatewayFamilies({ isLeaseHeld, peers, forwarded: { sent, received, failed } }: GatewayGauges): Family[] {
  const forwarded = [`{direction="sent"} ${sent}`, `{direction="received"} ${received}`];
  return [
    ["codecell_gateway_lease_held", "gauge", "Whether this gateway may serve sessions.", [` ${isLeaseHeld ? 1 : 0}`]],
    ["codecell_gateway_peers", "gauge", "Other gateways that are alive.", [` ${peers}`]],
    ["codecell_gateway_forwarded_total", "counter", "Requests passed on between gateways.", forwarded],
    ["codecell_gateway_forward_failures_total", "counter", "Requests that a peer did not answer.", [` ${failed}`]],
  ];
}

function add(counts: Map<string, number>, labels: string): void {
  counts.set(labels, (counts.get(labels) ?? 0) + 1);
}

function withLabel(name: string, counts: ReadonlyMap<string, number>): ReadonlyMap<string, number> {
  return new Map([...counts].map(([value, count]) => [`${name}="${value}"`, count]));
}

function labelled(counts: ReadonlyMap<string, number>): string[] {
  return [...counts].map(([labels, value]) => `{${labels}} ${value}`);
}
