/**
 * The seeds of tests that choose at random, and print from which seed. Where clients trade over
 * HTTP it repeats their choices; the order in which their requests arrive is the network's, so such
 * a run is not repeated to the bit.
 */

/** The seed of a run: what the variable of this name says, else another one each time. */
export function seedOf(variable: string): string {
  return process.env[variable] ?? `${Math.floor(Math.random() * 2 ** 31)}`;
}
