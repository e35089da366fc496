/** What is known about tokens, so that it need not be found out for each request. */

/** The oldest entries beyond are forgotten. */
const ENTRIES_MAX = 100_000;
/** The end of a signature, by which a token is found: V8 hashes all characters of a new string. */
const END_LENGTH = 20;

export class TokenMap<Entry extends { readonly token: string }> {
  private readonly entries = new Map<string, Entry>();

  of(token: string): Entry | null {
    const found = this.entries.get(endOf(token));
    return found?.token === token ? found : null;
  }

  add(entry: Entry): void {
    setBounded(this.entries, endOf(entry.token), entry);
  }

  delete(token: string): void {
    this.entries.delete(endOf(token));
  }

  clear(): void {
    this.entries.clear();
  }
}

function endOf(token: string): string {
  return token.slice(-END_LENGTH);
}

/** Sets an entry of a map, which forgets its oldest one if it has too many. */
export function setBounded<Key, Value>(map: Map<Key, Value>, key: Key, value: Value): void {
  map.set(key, value);
  if (map.size > ENTRIES_MAX) map.delete(map.keys().next().value!);
}
