/** Usual locations of credentials, grouped by tool. */
const credentials = [
  ...[".env*", "?*.env"],
  ...[".git/config", ".git-credentials", ".config/git/credentials", ".netrc", "_netrc"],
  ...[".ssh/**", "id_{rsa,dsa,ecdsa,ed25519}*", "*.{p12,pfx,ppk}", ".putty/**"],
  ...[".gnupg/**", ".password-store/**", "*.kdbx", ".config/{op,1password,keybase,age,sops}/**", ".vault-token"],
  ...[".aws/**", ".boto", ".s3cfg", ".config/gcloud/**", ".azure/**", ".config/doctl/**", ".oci/**", ".bluemix/**"],
  ...[".kube/**", ".docker/**", ".dockercfg", ".config/containers/auth.json", ".config/helm/**", ".minikube/**"],
  ...[".terraform.d/**", ".terraformrc", "*.tfstate*", ".pulumi/**", ".fly/**", ".config/{gh,hub,glab-cli,heroku}/**"],
  ...[".npmrc", ".yarnrc*", ".config/configstore/**", ".pypirc", ".config/pip/**", ".pip/**", ".config/pypoetry/**"],
  ...[".cargo/credentials*", ".gem/credentials", ".bundle/config", ".m2/settings*.xml", ".gradle/gradle.properties"],
  ...[".nuget/NuGet.Config", ".composer/auth.json", ".hex/hex.config"],
  ...[".pgpass", ".my.cnf", ".mylogin.cnf", ".mongorc.js", ".config/rclone/**", ".kaggle/**", ".huggingface/**"],
  ...[
    ".cache/huggingface/token",
    ".config/{anthropic,openai}/**",
    ".anthropic/**",
    ".openai/**",
    ".codex/{auth.json,config.toml}",
  ],
  ".*_history",
] as const;

/** Browser profiles and the key stores of desktops. */
const profiles = [
  ...[
    ".mozilla/**",
    ".thunderbird/**",
    ".config/{google-chrome*,chromium,BraveSoftware,microsoft-edge*,vivaldi,opera}/**",
  ],
  ...["snap/{firefox,chromium}/**", ".var/app/**"],
  ...[
    "Library/Application Support/{Google,Firefox,BraveSoftware,Microsoft Edge,Vivaldi}/**",
    "Library/{Safari,Cookies}/**",
  ],
  ...["Library/Keychains/**", "*.keychain", "*.keychain-db", ".local/share/{keyrings,kwalletd}/**"],
] as const;

/** Files that tools on the host run or obey. The attack: a program writes one and escapes at the next `git commit`. */
const obeyedByTheHost = [
  ...["sandbox.policy.{yaml,yml}", ".git/hooks/**", ".gitconfig", ".config/git/config", ".husky/**"],
  ...[".{bashrc,bash_profile,bash_login,bash_logout,profile,zshrc,zprofile,zshenv,zlogin}", ".config/fish/**"],
  ...[
    ".mcp.json",
    ".claude.json",
    ".claude/{settings*.json,hooks,commands,agents,skills}",
    ".cursor/**",
    ".vscode/**",
    ".idea/**",
    ".devcontainer/**",
  ],
  ...[".config/{autostart,systemd}/**", "Library/LaunchAgents/**"],
] as const;

/** Globs that are hidden in every mount unless the policy removes the entry with `!glob`. */
export const builtinDeny: readonly string[] = [...credentials, ...profiles, ...obeyedByTheHost];
