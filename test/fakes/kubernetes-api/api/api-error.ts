/** One thing that is wrong with an object. */
export interface Cause {
  readonly reason: string;
  readonly message: string;
  readonly field: string;
}

/** The resource that a request names, as messages spell it. */
export interface NamedResource {
  readonly group: string;
  readonly plural: string;
  readonly kind: string;
}

/** What the API server answers instead of an object. */
export interface Status {
  readonly kind: "Status";
  readonly apiVersion: "v1";
  readonly metadata: Record<string, never>;
  readonly status: "Failure" | "Success";
  readonly message?: string;
  readonly reason?: string;
  readonly details?: Record<string, unknown>;
  readonly code?: number;
}

/** A refused request. */
export class ApiError extends Error {
  readonly code: number;
  readonly status: Status;
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    code: number,
    reason: string,
    message: string,
    { details, headers = {} }: { details?: Record<string, unknown>; headers?: Record<string, string> } = {},
  ) {
    super(message);
    this.code = code;
    this.headers = headers;
    this.status = {
      ...{ kind: "Status", apiVersion: "v1", metadata: {}, status: "Failure", message },
      ...(reason === "" ? {} : { reason }),
      ...(details === undefined ? {} : { details }),
      code,
    };
  }
}

/** `leases.coordination.k8s.io`, or `pods` in the core group. */
export const qualified = ({ group, plural }: NamedResource): string => (group === "" ? plural : `${plural}.${group}`);

const detailsOf = ({ group, plural }: NamedResource, name: string) => ({
  ...{ name, kind: plural },
  ...(group === "" ? {} : { group }),
});

export const notFound = (resource: NamedResource, name: string): ApiError =>
  new ApiError(404, "NotFound", `${qualified(resource)} "${name}" not found`, { details: detailsOf(resource, name) });

export const noSuchPath = (): ApiError =>
  new ApiError(404, "NotFound", "the server could not find the requested resource", { details: {} });

export const alreadyExists = (resource: NamedResource, name: string): ApiError =>
  new ApiError(409, "AlreadyExists", `${qualified(resource)} "${name}" already exists`, {
    details: detailsOf(resource, name),
  });

export const conflict = (resource: NamedResource, name: string, why: string): ApiError =>
  new ApiError(409, "Conflict", `Operation cannot be fulfilled on ${qualified(resource)} "${name}": ${why}`, {
    details: detailsOf(resource, name),
  });

export const badRequest = (message: string): ApiError => new ApiError(400, "BadRequest", message);

export const unauthorized = (): ApiError => new ApiError(401, "Unauthorized", "Unauthorized");

export function forbidden(resource: NamedResource, name: string | undefined, why: string): ApiError {
  const subject = name === undefined ? qualified(resource) : `${qualified(resource)} "${name}"`;
  const { group, plural: kind } = resource;
  const details = { ...(name === undefined ? {} : { name }), ...(group === "" ? {} : { group }), kind };
  return new ApiError(403, "Forbidden", `${subject} is forbidden: ${why}`, { details });
}

export function invalid({ group, kind }: NamedResource, name: string, causes: readonly Cause[]): ApiError {
  const told = causes.map(({ field, message }) => `${field}: ${message}`);
  const why = told.length === 1 ? told[0] : `[${told.join(", ")}]`;
  const qualifiedKind = group === "" ? kind : `${kind}.${group}`;
  return new ApiError(422, "Invalid", `${qualifiedKind} "${name}" is invalid: ${why}`, {
    details: { ...(name === "" ? {} : { name }), ...(group === "" ? {} : { group }), kind, causes },
  });
}

/** The version that a watch or a page of a list begins at is no longer kept. */
export const expired = (message: string): ApiError => new ApiError(410, "Expired", message);

/** The server knows nothing of the kind, and says so in plain text. */
export class NoSuchPage extends Error {}

/** A websocket offers no protocol that the server speaks. */
export class UnknownProtocol extends Error {}

/** What a busy server answers. It is plain text, not a Status. */
export class TooManyRequests extends Error {
  readonly retryAfterSeconds: number;

  constructor(retryAfterSeconds: number) {
    super("Too many requests, please try again later.\n");
    this.retryAfterSeconds = retryAfterSeconds;
  }
}
