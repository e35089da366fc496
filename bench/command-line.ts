/** What the command lines of the benchmark and of the soak have in common. */

/** The settings that `read` makes of the arguments. Where it throws, the reason and the usage are printed, and the process ends with status 2. */
export function readOrExit<Settings>(read: () => Settings, usage: string): Settings {
  try {
    return read();
  } catch (error) {
    console.error(`${(error as Error).message}\n\n${usage}`);
    process.exit(2);
  }
}

/** @throws Error that names the option, when the text is no number within the bounds. */
export function numberOf(option: string, text: string, least: number, most: number): number {
  const number = Number(text);
  if (!(number >= least && number <= most))
    throw new Error(`${option} must be a number from ${least} to ${most}`);
  return number;
}
