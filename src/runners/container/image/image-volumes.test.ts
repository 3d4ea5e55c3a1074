import { describe, expect, test } from "vitest";
import { coveredVolumes } from "./image-volumes.ts";

describe("a volume that an image declares", () => {
  const covers = (volumes: string[]) =>
    coveredVolumes({ name: "odd:1", volumes }, "/run/empty", ["/tmp", "/workspace", "/etc/passwd"]);

  test("is covered by an empty read-only directory", () => {
    expect(covers(["/data"])).toEqual([{ source: "/run/empty", target: "/data", readOnly: true }]);
  });

  test("is covered once if its path is written in several ways", () => {
    expect(covers(["/data", "/data//", "/srv/../data"]).map(({ target }) => target)).toEqual(["/data"]);
  });

  test("is not covered if the cell has its own mount there", () => {
    expect(covers(["/tmp", "/workspace/"])).toEqual([]);
  });

  test("is covered below a writable directory of the cell too", () => {
    expect(covers(["/workspace/data"]).map(({ target }) => target)).toEqual(["/workspace/data"]);
  });

  test("is refused if it contains another volume, because its cover is read-only", () => {
    expect(() => covers(["/data", "/data/below"])).toThrow("odd:1 declares a volume at /data");
  });

  test.each(["/etc", "/", "data", "./data"])("is refused if it cannot be covered: %s", (volume) => {
    expect(() => covers([volume])).toThrow(
      expect.objectContaining({
        code: "cell_start_failed",
        message: expect.stringContaining(`odd:1 declares a volume at ${volume}`),
      }),
    );
  });
});
