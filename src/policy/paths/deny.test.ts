import { describe, expect, test } from "vitest";
import { builtinDeny } from "./builtin-deny.ts";
import { denyMatcher } from "./deny.ts";
import { globProblem } from "./glob.ts";

describe("the deny matcher", () => {
  const denied = denyMatcher([]);

  test.each([
    ...[".env", ".env.production", "app/.ENV", ".git/config", "x/.git/hooks/pre-commit", ".ssh/id_ed25519", "id_rsa"],
    ...[".aws/credentials", ".config/gcloud/application_default_credentials.json", ".azure/msal_token_cache.json"],
    ...[".gnupg/secring.gpg", ".kube/config", ".docker/config.json", ".npmrc", ".pypirc", ".netrc", ".git-credentials"],
    ...[
      ".mozilla/firefox/x/logins.json",
      ".config/google-chrome/Default/Cookies",
      "Library/Keychains/login.keychain-db",
    ],
    ...["/home/someone/.aws", "/home/someone/.ssh/known_hosts", "a/../.env", ".bash_history", "sandbox.policy.yaml"],
    ...["tls/server.key", "deploy.PEM", "app.jks", "AuthKey_1.p8", ".claude/.credentials.json", "credentials.json"],
    ...["etc/kubeconfig", "kubeconfig.yaml", "prod.kubeconfig", "prod.tfvars", "x.auto.tfvars.json"],
    ...["client_secret_1.json", "service-account.json", "aws_credentials.json", "config/secrets.yml", "vpn.ovpn"],
  ])("denies %s by the built-in list", (path) => expect(denied(path)).toBeTypeOf("string"));

  test.each([
    "main.py",
    "data/environment.csv",
    ".github/workflows/ci.yml",
    "src/config",
    "git/config",
    "/srv/project",
    "site-packages/certifi/cacert.pem",
    "src/credentials.py",
    "keys.csv",
    "secrets.py",
    "src/credentials/main.py",
    "kubeconfig.go",
    "public.crt",
  ])("does not deny %s", (path) => expect(denied(path)).toBeUndefined());

  test("returns the glob that matched, also when it matched a parent", () => {
    expect(denied(".aws/sso/cache/token.json")).toBe(".aws/**");
    expect(denyMatcher(["secrets"])("a/secrets/b/c")).toBe("secrets");
  });

  test("below a directory, compares globs of several names with the absolute path too", () => {
    expect(denied("gcloud/credentials.db")).toBeUndefined();
    expect(denied.below("/home/someone/.config")("gcloud/credentials.db")).toBe(".config/gcloud/**");
    expect(denied.below("/home/someone")("src/config")).toBeUndefined();
    expect(denyMatcher(["/data/x"]).below("/data")("x")).toBeUndefined();
  });

  test("a glob that starts with // matches a path of the host, and not one of a mount", () => {
    const matcher = denyMatcher(["//srv/keys/*.json"]);
    expect(matcher("/srv/keys/a.json")).toBe("//srv/keys/*.json");
    expect(matcher.below("/srv")("keys/a.json")).toBe("//srv/keys/*.json");
    expect(matcher.below("/srv/keys")("a.json")).toBe("//srv/keys/*.json");
    expect(matcher.below("/home")("srv/keys/a.json")).toBeUndefined();
    expect(matcher("/home/srv/keys/a.json")).toBeUndefined();
    expect(denyMatcher(["//srv/keys", "!//srv/keys"])("/srv/keys")).toBeUndefined();
  });

  test("resolves . and .. before it compares a path", () => {
    expect(denyMatcher(["/top"])("a/.././top")).toBe("/top");
  });

  test("drops exactly the built-in entry that a !glob names", () => {
    const lifted = denyMatcher(["!.npmrc", "!.env*"]);
    expect(lifted(".npmrc")).toBeUndefined();
    expect(lifted(".env")).toBeUndefined();
    expect(lifted(".pypirc")).toBe(".pypirc");
  });

  test("has a built-in list of valid globs without duplicates", () => {
    for (const glob of builtinDeny) expect([glob, globProblem(glob)]).toEqual([glob, undefined]);
    expect(new Set(builtinDeny).size).toBe(builtinDeny.length);
  });
});
