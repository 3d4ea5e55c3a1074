import { CodecellError, messageOf } from "../../lib/errors.ts";

/** Why a server does not listen, in words, and what to change. */
export function listenFailure(host: string, port: number, cause: NodeJS.ErrnoException): CodecellError {
  const [why, hint] = reasons[cause.code ?? ""] ?? [messageOf(cause), "choose another --host or --port"];
  return new CodecellError("usage", `cannot listen on ${host}:${port}: ${why}`, { cause, hint });
}

const anotherPort = "choose another --port, or 0 for any";
const anotherHost = "choose another --host; 127.0.0.1 is this machine alone";

const reasons: Readonly<Record<string, readonly [why: string, hint: string]>> = {
  EADDRINUSE: ["another program listens there", anotherPort],
  EACCES: ["this user may not use that port", anotherPort],
  ENOTFOUND: ["no machine has that name", anotherHost],
  EADDRNOTAVAIL: ["this machine does not have that address", anotherHost],
};
