/** A cache of entries by token. */

const ENTRIES_MAX = 100_000;
/** Keys are the tokens' last characters: V8 hashes all characters of a new string. */
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

export function setBounded<Key, Value>(map: Map<Key, Value>, key: Key, value: Value): void {
  map.set(key, value);
  if (map.size > ENTRIES_MAX) map.delete(map.keys().next().value!);
}
