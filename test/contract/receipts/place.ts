import { once } from "node:events";
import { chmod, chown, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import type { EgressOptions } from "../../../src/egress/process/egress-process.ts";
import { Cleanup } from "../../../src/lib/cleanup.ts";
import { openSecretOrigin, type SecretOrigin } from "../../support/secret-origin.ts";
import { makeAuthority } from "../../support/test-authority.ts";

export const hostSecret = "h0st-secret-that-no-cell-may-see";
export const secretValue = "s3cret-value-that-no-cell-may-see";
export const secretVariable = "CODECELL_RECEIPTS_SECRET";
export const hostVariable = "CODECELL_RECEIPTS_HOST";

/** What an attack on a cell is after: files, variables and servers of the host, all of them made for the test. */
export class Place implements AsyncDisposable {
  readonly root: string;
  readonly web: CountingWeb;
  /** a server with TLS that the proxy trusts, and one that it does not */
  readonly trusted: SecretOrigin;
  readonly untrusted: SecretOrigin;
  readonly egress: EgressOptions;
  readonly #cleanup: Cleanup;
  #states = 0;

  private constructor(parts: Pick<Place, "root" | "web" | "trusted" | "untrusted" | "egress">, cleanup: Cleanup) {
    this.root = parts.root;
    this.web = parts.web;
    this.trusted = parts.trusted;
    this.untrusted = parts.untrusted;
    this.egress = parts.egress;
    this.#cleanup = cleanup;
  }

  static async make(parent: string): Promise<Place> {
    await using cleanup = new Cleanup();
    const root = await mkdtemp(join(parent, "cc-receipts-"));
    cleanup.defer(() => rm(root, { recursive: true, force: true }));
    await chmod(root, 0o711);
    await makeFiles(root);
    process.env[hostVariable] = hostSecret;
    process.env[secretVariable] = secretValue;
    const web = await openCountingWeb();
    cleanup.defer(() => web.close());
    const names = ["good.example", "bad.example", "denied.example", "ruled.example", "evil.example"];
    const egress = { fixedAddresses: Object.fromEntries(names.map((name) => [name, "127.0.0.1"])) };
    const open = async (name: string) => {
      await mkdir(join(root, name));
      const authority = await makeAuthority(join(root, name), names);
      const origin = await openSecretOrigin(authority, { password: secretValue });
      cleanup.defer(() => origin.close());
      return { origin, certificate: await readFile(join(authority.directory, "ca.crt"), "utf8") };
    };
    const [trusted, untrusted] = [await open("trusted"), await open("untrusted")];
    const authorities = [trusted.certificate];
    const servers = { trusted: trusted.origin, untrusted: untrusted.origin };
    return new Place({ root, web, ...servers, egress: { ...egress, authorities } }, cleanup.move());
  }

  path(...names: string[]): string {
    return join(this.root, "host", ...names);
  }

  /** A state directory of its own for whoever asks. */
  async stateDir(): Promise<string> {
    const path = join(this.root, `state-${++this.#states}`);
    await mkdir(path, { mode: 0o711 });
    return path;
  }

  [Symbol.asyncDispose](): Promise<void> {
    delete process.env[hostVariable];
    delete process.env[secretVariable];
    return this.#cleanup[Symbol.asyncDispose]();
  }
}

async function makeFiles(root: string): Promise<void> {
  for (const name of ["", "outside", "readable", "writable", "deps", "work"]) {
    await mkdir(join(root, "host", name), { recursive: true });
    await chmod(join(root, "host", name), 0o777);
    // a program of root works in directories of another user only: its cells have that user's uid
    if (process.getuid?.() === 0 && ["writable", "work"].includes(name))
      await chown(join(root, "host", name), 4711, 4711);
  }
  const files = { "outside/secret.txt": hostSecret, "readable/plain.txt": "plain", "readable/.env": hostSecret };
  const more = { "readable/own.classified": hostSecret, "deps/module.py": "answer = 42\n" };
  for (const [name, text] of Object.entries({ ...files, ...more })) {
    await writeFile(join(root, "host", name), text, { mode: 0o644 });
  }
  await symlink("../outside/secret.txt", join(root, "host", "readable", "way-out.txt"));
}

export interface CountingWeb {
  readonly port: number;
  /** requests that arrived, and bytes of their bodies */
  readonly seen: { requests: number; bytes: number };
  close(): Promise<void>;
}

/** `/endless` talks until nobody listens, `/hold` never answers, and everything else gets its own path back. */
async function openCountingWeb(): Promise<CountingWeb> {
  const seen = { requests: 0, bytes: 0 };
  const server = createServer((request, answer) => {
    seen.requests++;
    answer.on("error", () => {});
    request.on("error", () => {});
    request.on("data", (chunk: Buffer) => {
      seen.bytes += chunk.byteLength;
    });
    if (request.url === "/hold") return;
    if (request.url === "/endless") {
      const chunk = Buffer.alloc(16 * 1024);
      const more = () => {
        while (!answer.destroyed && answer.write(chunk));
      };
      answer.on("drain", more);
      more();
      return;
    }
    request.on("end", () => answer.end(`${request.method} ${request.url}`));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    seen,
    async close() {
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
    },
  };
}
