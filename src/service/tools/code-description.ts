/** What a tool that runs code in a session tells a model about itself. */
export const codeDescription = descriptionFor("Python (or bash)");
/** The same where there is no bash. */
export const pythonDescription = descriptionFor("Python");

function descriptionFor(languages: string): string {
  return `Run ${languages} in an isolated session that keeps variables, imports and files. Returns what it printed, the value of the last expression, shown figures as images, and the files it wrote. If it fails, variables are kept: correct the code and call again.`;
}

export const timeoutDescription = "Seconds after which the code is interrupted.";
export const maxTimeoutSeconds = 86_400;
