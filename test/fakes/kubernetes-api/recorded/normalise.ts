/** What matters of an answer. It is the same in every run. */
export type Normalised = Readonly<Record<string, unknown>>;

type Body = Record<string, unknown>;

/** Fields of an object that clients rely on, and that no default fills in. */
const kept: Readonly<Record<string, readonly string[]>> = {
  ConfigMap: ["data", "immutable"],
  Lease: ["spec"],
  NetworkPolicy: ["spec"],
  SelfSubjectAccessReview: ["status"],
};

/** Pure: an answer without times, numbers and texts that differ from run to run. */
export function normalise(code: number, body: Body, before: Body | undefined): Normalised {
  if (body.kind === "Status") return { code, ...withoutNumbers(statusOf(body)) };
  const metadata = (body.metadata ?? {}) as Body;
  if (Array.isArray(body.items)) {
    const items = body.items as { metadata: Body }[];
    return {
      ...{
        code,
        kind: body.kind,
        items: items.map((one) => one.metadata.name).filter((name) => name !== "kube-root-ca.crt"),
      },
      ...{ continues: Boolean(metadata.continue), remains: metadata.remainingItemCount ?? null },
      hasVersion: /^\d+$/.test(String(metadata.resourceVersion)),
    };
  }
  const { name, namespace, labels, deletionGracePeriodSeconds: grace } = metadata;
  const fields = (kept[String(body.kind)] ?? []).filter((field) => body[field] !== undefined);
  return {
    ...{ code, kind: body.kind, apiVersion: body.apiVersion },
    metadata: JSON.parse(JSON.stringify({ name, namespace, labels, grace })) as Body,
    isMarked: metadata.deletionTimestamp !== undefined,
    ...(before === undefined ? {} : { version: compared(before.metadata as Body, metadata) }),
    ...Object.fromEntries(fields.map((field) => [field, field === "status" ? allowedOf(body) : body[field]])),
    ...(body.kind === "Pod" ? { phase: (body.status as Body | undefined)?.phase } : {}),
  };
}

/** The real server also says by which binding. */
const allowedOf = ({ status }: Body): unknown => (status as Body | undefined)?.allowed;

function compared(before: Body, now: Body): string {
  if (before.uid !== now.uid) return "of another object";
  const [old, next] = [Number(before.resourceVersion), Number(now.resourceVersion)];
  return next === old ? "same" : next > old ? "newer" : "older";
}

function statusOf({ status, reason, message, details, code }: Body): Body {
  return JSON.parse(JSON.stringify({ status, reason, message, details, statusCode: code })) as Body;
}

/** Masks uids and versions in texts. */
function withoutNumbers(body: Body): Body {
  const text = JSON.stringify(body)
    .replaceAll(/(only additions to existing tolerations\))\\n(?:[^"\\]|\\.)*/g, "$1") // a difference in Go's words
    .replaceAll(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, "UID")
    .replaceAll(
      /ResourceVersion in the precondition \(\d+\)(.*?)\(\d+\)/g,
      "ResourceVersion in the precondition (N)$1(N)",
    )
    .replaceAll(/(json parse error).*?\)"/g, '$1"') // in Go's words
    .replaceAll(/too old resource version: \d+ \(\d+\)/g, "too old resource version: N (N)");
  return JSON.parse(text) as Body;
}
