import { CodecellError, messageOf } from "../../lib/errors.ts";

/** Why a server cannot listen, and what to change. */
export function listenFailure(host: string, port: number, cause: NodeJS.ErrnoException): CodecellError {
  const [why, hint] = reasons[cause.code ?? ""] ?? [messageOf(cause), "choose another --host or --port"];
  return new CodecellError("usage", `cannot listen on ${host}:${port}: ${why}`, { cause, hint });
}

const anotherPort = "choose another --port, or 0 for any";
const anotherHost = "choose another --host; with 127.0.0.1 only this machine can connect";

const reasons: Readonly<Record<string, readonly [why: string, hint: string]>> = {
  EADDRINUSE: ["another program uses this port", anotherPort],
  EACCES: ["this user may not use this port", anotherPort],
  ENOTFOUND: ["this host name does not exist", anotherHost],
  EADDRNOTAVAIL: ["this machine does not have this address", anotherHost],
};
