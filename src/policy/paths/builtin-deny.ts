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

/** Private keys and credentials by the names that people give to files in their projects. */
const namedFiles = [
  ...["*.key", "*.pem", "*.{jks,keystore,bks,p8,pvk}", "*.ovpn", "wallet.dat"],
  ...["credentials.{json,yaml,yml,csv}", "{client_secret,service[-_]account}*.json", "*[-_]credentials.json"],
  ...["secrets.{json,yaml,yml,toml}", ".htpasswd", ".vault_pass*"],
  ...["kubeconfig{,.yaml,.yml,.json}", "*.kubeconfig", "*.tfvars*"],
] as const;

/** More tools that keep a token or password in the home directory. */
const tokensOfTools = [
  ...[".claude/.credentials.json", ".gemini/**", ".config/github-copilot/**", ".local/share/opencode/auth.json"],
  ...[".databrickscfg", ".snowflake/**", ".snowsql/**", ".dbt/**", ".streamlit/secrets.toml", ".config/stripe/**"],
  ...[".config/{hcloud,scw,linode-cli,ngrok}/**", ".ngrok2/**", ".cloudflared/**", ".tsh/**", ".step/**"],
  ...[".config/composer/auth.json", ".config/npm/npmrc", ".jfrog/**", ".sentryclirc", ".clasprc.json"],
  ...[".authinfo*", ".msmtprc", ".{wgetrc,curlrc}", ".ethereum/keystore/**", ".config/solana/**", ".electrum/**"],
] as const;

/** Certificates of public authorities, which `*.pem` does not hide: Python packages cannot connect without them. */
export const publicFiles: ReadonlySet<string> = new Set(["cacert.pem"]);

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
export const obeyedByTheHost = [
  ...["sandbox.policy.{yaml,yml}", ".envrc", ".git/hooks/**", ".gitconfig", ".config/git/config", ".husky/**"],
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
export const builtinDeny: readonly string[] = [
  ...credentials,
  ...namedFiles,
  ...tokensOfTools,
  ...profiles,
  ...obeyedByTheHost,
];
