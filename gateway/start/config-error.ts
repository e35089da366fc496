/** Errors of the configuration, for the operator. */
import { isOfFile, troubleOf, troubleText } from '../../persistence/storage/trouble.js';

/** A variable has an invalid value. */
export class ConfigError extends Error {}

type ErrorClass = new (...given: never[]) => Error;

/**
 * Runs code that uses the file or folder named by a variable. Errors of the operating system, of
 * SQLite and of the given classes become a ConfigError that names the variable. Other errors pass
 * through.
 * @throws ConfigError
 */
export async function withVariable<T>(
  name: string,
  work: () => T | Promise<T>,
  classes: readonly ErrorClass[] = [],
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const isExpected = isOfFile(error) || classes.some((kind) => error instanceof kind);
    if (!isExpected) throw error;
    throw new ConfigError(`${name} cannot be used: ${troubleText(troubleOf(error))}`, {
      cause: error,
    });
  }
}
