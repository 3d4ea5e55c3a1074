import { createHash } from "node:crypto";
import { z } from "zod";
import { CodecellError } from "../../../lib/errors.ts";
import type { Logger } from "../../../lib/log/logger.ts";
import { PromiseCache } from "../../../lib/waiting/promise-cache.ts";
import { imageFactsSchema } from "../../images/image-question.ts";
import { bundleName } from "../../kernel-bootstrap.ts";
import { type KernelSource, kernelSources } from "../../kernel-sources.ts";
import { identityTexts } from "../../linux/identity-texts.ts";
import { killNotifyFilter, seccompFilter } from "../../linux/seccomp/seccomp.ts";
import { ApiRefusal } from "../client/api-refusal.ts";
import type { GatewayPods } from "../gateway/gateway-pods.ts";
import { labelsOf } from "../labels.ts";
import { sharedIdentity } from "../pod/cell-pod.ts";
import type { KubernetesSettings } from "../settings.ts";
import { type Examined, examineImage } from "./examiner.ts";

/** Increase it when the content of a kernel's ConfigMap changes. */
const layout = 4;
/** Kubernetes accepts no larger ConfigMap. */
const largestBytes = 1024 * 1024;
const factsFile = "image.json";

const factsSchema = imageFactsSchema.extend({
  machine: z.enum(["x86_64", "aarch64"]),
  mayLeaveNetwork: z.boolean(),
  imageId: z.string(),
});

/** An image's interpreter, what its node allows, and the ConfigMap with the kernel compiled for it. */
export type ClusterKernel = z.output<typeof factsSchema> & { readonly configMap: string };

const configMapSchema = z.object({ data: z.record(z.string(), z.string()) });

/** The kernels in the cluster, by image. One gateway examines an image, and all of them use what it found. */
export class ClusterKernels {
  readonly #gatewayPods: () => Promise<GatewayPods>;
  readonly #runtimeClass: string | undefined;
  readonly #logger: Logger;
  readonly #hasOwnKernel: boolean;
  readonly #kernels = new PromiseCache<ClusterKernel>();
  #sources: readonly KernelSource[] | undefined;

  constructor(
    pods: () => Promise<GatewayPods>,
    { runtimeClass }: KubernetesSettings,
    logger: Logger,
    hasOwnKernel: boolean,
  ) {
    this.#gatewayPods = pods;
    this.#runtimeClass = runtimeClass;
    this.#logger = logger;
    this.#hasOwnKernel = hasOwnKernel;
  }

  get(image: string): Promise<ClusterKernel> {
    return this.#kernels.get(image, () => this.#findOrExamine(image));
  }

  /** The image's name means another image by now. */
  async forget(image: string, known: ClusterKernel): Promise<void> {
    this.#kernels.forget(
      image,
      this.#kernels.get(image, async () => known),
    );
    const { api } = await this.#gatewayPods();
    const path = api.path("configmaps", known.configMap);
    await api.json({ verb: "delete", resource: "configmaps", path }).catch((error: unknown) => {
      if (!(error instanceof ApiRefusal && error.status === 404)) throw error;
    });
  }

  async #findOrExamine(image: string): Promise<ClusterKernel> {
    this.#sources ??= kernelSources();
    const name = `codecell-kernel-${this.#hash(image, this.#sources)}`;
    return (await this.#find(name)) ?? (await this.#make(image, name, this.#sources));
  }

  async #find(name: string): Promise<ClusterKernel | undefined> {
    const { api } = await this.#gatewayPods();
    const request = { verb: "get", resource: "configmaps", path: api.path("configmaps", name) } as const;
    try {
      const { data } = configMapSchema.parse(await api.json(request));
      return { ...factsSchema.parse(JSON.parse(data[factsFile] ?? "")), configMap: name };
    } catch (error) {
      if (error instanceof ApiRefusal && error.status === 404 && !error.message.includes("namespaces"))
        return undefined;
      throw api.explain(error, request);
    }
  }

  async #make(image: string, name: string, sources: readonly KernelSource[]): Promise<ClusterKernel> {
    this.#logger.info("examining the image", { image });
    const pods = await this.#gatewayPods();
    const examined = await examineImage(pods, image, { sources, hasOwnKernel: this.#hasOwnKernel });
    const { api, gateway } = pods;
    const body = kernelConfigMap(name, gateway, examined, this.#filters(examined.machine));
    const request = { verb: "create", resource: "configmaps", path: api.path("configmaps"), body } as const;
    await api.json(request).catch((error: unknown) => {
      if (error instanceof ApiRefusal && error.status === 409) return; // another gateway was faster
      throw api.explain(error, request);
    });
    const { bundle: _, ...facts } = examined;
    return { ...facts, configMap: name };
  }

  #filters(machine: Examined["machine"]): Record<string, Buffer> {
    const arch = machine === "x86_64" ? "x64" : "arm64";
    const limits = { allowMemfd: true, allowAffinity: true, shieldsSupervisor: this.#hasOwnKernel };
    return {
      "notify.bpf": killNotifyFilter(arch),
      "cell.bpf": seccompFilter({ arch, phase: "cell", ...limits }),
    };
  }

  /** A hash of everything that the content depends on, except what only a pod can tell. */
  #hash(image: string, sources: readonly KernelSource[]): string {
    const hash = createHash("sha256").update(JSON.stringify([image, layout, this.#runtimeClass ?? ""]));
    for (const { name, data } of sources) hash.update(`\0${name}\0`).update(data);
    for (const machine of ["x86_64", "aarch64"] as const)
      for (const filter of Object.values(this.#filters(machine))) hash.update(filter);
    return hash.digest("hex").slice(0, 16);
  }
}

/** Pure: the ConfigMap that cells of an image mount at /.kernel. */
export function kernelConfigMap(name: string, gateway: string, examined: Examined, filters: Record<string, Buffer>) {
  const { bundle, ...facts } = examined;
  const texts = identityTexts({ uid: 0, gid: 0 });
  const binaryData = {
    [bundleName]: bundle,
    ...Object.fromEntries(Object.entries(filters).map(([file, data]) => [file, data.toString("base64")])),
  };
  const data = {
    [factsFile]: JSON.stringify(facts),
    ...Object.fromEntries(sharedIdentity.map((file) => [file, texts[file]])),
  };
  const bytes = JSON.stringify(data).length + (Object.values(binaryData).join("").length * 3) / 4;
  if (bytes > largestBytes) {
    throw new CodecellError("internal", `the kernel has ${bytes} bytes, more than a ConfigMap can hold`);
  }
  return {
    ...{ apiVersion: "v1", kind: "ConfigMap", immutable: true, data, binaryData },
    metadata: { name, labels: labelsOf("kernel", gateway) },
  };
}
