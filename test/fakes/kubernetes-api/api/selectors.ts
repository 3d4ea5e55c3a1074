import { badRequest } from "./api-error.ts";
import { type ApiObject, fieldAt } from "./api-object.ts";
import type { Resource } from "./resource-table.ts";

/** Whether a list or watch has an object in it. */
export type Selector = (object: ApiObject) => boolean;

const podFields = ["spec.nodeName", "spec.restartPolicy", "spec.serviceAccountName", "status.phase", "status.podIP"];

/** The selector of `labelSelector` and `fieldSelector`. */
export function parseSelectors(resource: Resource, query: URLSearchParams): Selector {
  const labels = parseLabels(query.get("labelSelector") ?? "");
  const fields = parseFields(resource, query.get("fieldSelector") ?? "");
  return (object) => labels(object.metadata.labels ?? {}) && fields(object);
}

type LabelTest = (labels: Readonly<Record<string, string>>) => boolean;

/** `a=b,c!=d,e in (f,g),h notin (i),j,!k` */
export function parseLabels(text: string): LabelTest {
  const parts = text.match(/[^,(]+(?:\([^)]*\))?/g) ?? [];
  const tests = parts.map((part) => labelTest(part.trim()));
  return (labels) => tests.every((test) => test(labels));
}

function labelTest(part: string): LabelTest {
  const set = /^(\S+)\s+(in|notin)\s*\(([^)]*)\)$/.exec(part);
  if (set !== null) {
    const [, key = "", how, list = ""] = set;
    const values = list.split(",").map((one) => one.trim());
    if (how === "in") return (labels) => labels[key] !== undefined && values.includes(labels[key]);
    return (labels) => labels[key] === undefined || !values.includes(labels[key]);
  }
  const equal = /^([^=!\s]+)\s*(==|=|!=)\s*(\S*)$/.exec(part);
  if (equal !== null) {
    const [, key = "", how, value = ""] = equal;
    return how === "!=" ? (labels) => labels[key] !== value : (labels) => labels[key] === value;
  }
  if (/^![^=!\s]+$/.test(part)) return (labels) => labels[part.slice(1)] === undefined;
  if (/^[^=!\s]+$/.test(part)) return (labels) => labels[part] !== undefined;
  throw badRequest(`unable to parse requirement: found '${part}'`);
}

function parseFields(resource: Resource, text: string): Selector {
  const known = ["metadata.name", "metadata.namespace", ...(resource.plural === "pods" ? podFields : [])];
  const tests = text
    .split(",")
    .filter(Boolean)
    .map((part) => {
      const [, field = "", how, value = ""] = /^([^=!]+)(==|=|!=)(.*)$/.exec(part) ?? [];
      if (how === undefined) throw badRequest(`invalid selector: '${part}'; can't understand '${part}'`);
      if (!known.includes(field)) throw badRequest(unknownField(resource, field));
      return (object: ApiObject) => ((fieldAt(object, field) ?? "") === value) === (how !== "!=");
    });
  return (object) => tests.every((test) => test(object));
}

function unknownField({ plural }: Resource, field: string): string {
  if (plural === "pods") return `field label not supported: ${field}`;
  return `"${field}" is not a known field selector: only "metadata.name", "metadata.namespace"`;
}
