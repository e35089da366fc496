/** Errors of the configuration, for the operator. */
import { isOfFile, troubleOf, troubleText } from '../../persistence/storage/trouble.js';

export class ConfigError extends Error {}

type ErrorClass = new (...given: never[]) => Error;

/** Errors of the system, SQLite and `classes` become a ConfigError that names the variable. */
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
