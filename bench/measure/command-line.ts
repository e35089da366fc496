/** The command lines of the benchmark and the soak. */

/** Returns what `read` returns. If it throws, prints the reason and the usage, and exits with 2. */
export function readOrExit<Settings>(read: () => Settings, usage: string): Settings {
  if (process.argv.includes('--help')) {
    console.log(usage);
    process.exit(0);
  }
  try {
    return read();
  } catch (error) {
    console.error(`${(error as Error).message}\n\n${usage}`);
    process.exit(2);
  }
}

/** @throws Error that names the option if the text is not a number within the bounds. */
export function numberOf(option: string, text: string, least: number, most: number): number {
  const number = Number(text);
  if (!(number >= least && number <= most))
    throw new Error(`${option} must be a number from ${least} to ${most}`);
  return number;
}
