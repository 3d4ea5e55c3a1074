import { CodecellError } from "../lib/errors.ts";
import { type ClientTimes, defaultTimes } from "./http/client-times.ts";
import { serviceAddress } from "./http/service-address.ts";
import { Transport } from "./http/transport.ts";
import { RemoteCodecell } from "./remote-codecell.ts";

/** How to reach a service. */
export interface ConnectOptions {
  /** the address of `codecell serve`; default: the environment variable `CODECELL_URL`, where there are any */
  readonly url?: string | URL;
  /** a token of the service; default: the environment variable `CODECELL_TOKEN`, where there are any */
  readonly token?: string;
  /** allows http:// to other machines, which sends token and code unencrypted */
  readonly allowInsecure?: boolean;
  /** how often a request that is safe to repeat is sent again; default: 4 */
  readonly retries?: number;
  /** how much memory one response may take; default: 128 MiB. Files are streamed and have no limit. */
  readonly maxResponseBytes?: number;
  /** another fetch, such as one with a proxy; default: the global one */
  readonly fetch?: typeof fetch;
  /** @internal */
  readonly times?: Partial<ClientTimes>;
}

/** Connects to a service, and checks that it is there. */
export async function connect(options: ConnectOptions = {}): Promise<RemoteCodecell> {
  const url = options.url ?? environment("CODECELL_URL");
  const token = options.token ?? environment("CODECELL_TOKEN");
  if (url === undefined)
    throw new CodecellError("usage", "connect() needs the address of a service", {
      hint: "pass url, such as http://127.0.0.1:7410, or set CODECELL_URL",
    });
  // What a header cannot carry would fail in fetch, with the token in the message.
  if (token !== undefined && !/^[\x21-\x7e]+$/.test(token))
    throw new CodecellError("usage", "the token is empty or contains characters that no token has", {
      hint: "use the text that `codecell token create` printed, without quotes and line breaks",
    });
  const codecell = new RemoteCodecell(
    new Transport({
      ...{ address: serviceAddress(url, options), token },
      fetch: options.fetch ?? ((input, init) => globalThis.fetch(input, init)),
      ...{ retries: options.retries ?? 4, maxResponseBytes: options.maxResponseBytes ?? 128 * 1024 * 1024 },
      times: { ...defaultTimes, ...options.times },
    }),
  );
  await codecell.health();
  return codecell;
}

/** Only Node and those like it have environment variables. */
function environment(name: string): string | undefined {
  const { process } = globalThis as { process?: { env?: Record<string, string | undefined> } };
  return process?.env?.[name];
}
