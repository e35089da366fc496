/**
 * Seeds for random tests, which print them. Over HTTP a seed repeats the clients' choices but not
 * the order in which requests arrive, so such a run is not repeatable to the bit.
 */

/** The seed from the environment variable, otherwise a random one. */
export function seedOf(variable: string): string {
  return process.env[variable] ?? `${Math.floor(Math.random() * 2 ** 31)}`;
}
