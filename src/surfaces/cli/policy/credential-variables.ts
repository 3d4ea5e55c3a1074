/** Variables whose value is a file or a directory with credentials. Some hold several, separated by colons. */
export const wholePath = [
  ...["AWS_SHARED_CREDENTIALS_FILE", "AWS_CONFIG_FILE", "AWS_WEB_IDENTITY_TOKEN_FILE", "BOTO_CONFIG"],
  ...["CLOUDSDK_CONFIG", "GOOGLE_APPLICATION_CREDENTIALS", "AZURE_CONFIG_DIR", "OCI_CLI_CONFIG_FILE"],
  ...["GNUPGHOME", "PASSWORD_STORE_DIR", "SOPS_AGE_KEY_FILE", "NETRC", "GH_CONFIG_DIR", "GLAB_CONFIG_DIR"],
  ...["DOCKER_CONFIG", "REGISTRY_AUTH_FILE", "KUBECONFIG", "TF_CLI_CONFIG_FILE", "RCLONE_CONFIG", "KAGGLE_CONFIG_DIR"],
  ...["NPM_CONFIG_USERCONFIG", "npm_config_userconfig", "PIP_CONFIG_FILE", "PGPASSFILE", "HF_TOKEN_PATH"],
];

/** Variables that move a directory of the home directory: what the built-in list denies in it is denied in the new place. */
export const movedDirectory = {
  XDG_CONFIG_HOME: ".config",
  XDG_DATA_HOME: ".local/share",
  XDG_CACHE_HOME: ".cache",
  CARGO_HOME: ".cargo",
  CODEX_HOME: ".codex",
  CLAUDE_CONFIG_DIR: ".claude",
  GRADLE_USER_HOME: ".gradle",
  HF_HOME: ".cache/huggingface",
};
