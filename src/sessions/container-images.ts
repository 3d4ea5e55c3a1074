/** Images of the container runner, as the `image` commands manage them. */
export type { EngineKind } from "../runners/container/engine/engine-address.ts";
export { defaultImage } from "../runners/container/image/default-image.ts";
export { bootstraps, buildImage, buildNetworks } from "../runners/container/image/image-build.ts";
export { imageEngine } from "../runners/container/image/image-engine.ts";
export { type FoundImage, findImage, listImages } from "../runners/container/image/image-list.ts";
export { checkImageName } from "../runners/container/image/image-name.ts";
export type { ImageProgress } from "../runners/container/image/image-progress.ts";
