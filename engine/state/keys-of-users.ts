/**
 * Each user's remembered results, in order of time, and their words. All entries are in one queue
 * (idempotency.ts); the lists here link each user's entries.
 *
 * Always holds: there is one link for each entry in the queue, in the same order. Links are apart
 * from the entries because they are small: the user's last link is still in the cache when the next
 * is added, while a link in the entry would cost each key a memory access.
 */
import { WordQueue } from '../storage/word-queue.js';

/** Per user id. `oldest` and `newest` are positions of links plus 1; 0: none. */
const OfUser = { oldest: 0, newest: 1, count: 2, words: 3 } as const;
const USER_WORDS = 4;

/** A link: its entry, and the distance in words to the user's next link; 0: none. */
const Link = { entry: 0, toNext: 1 } as const;
const LINK_WORDS = 2;

export class KeysOfUsers {
  private readonly links = new WordQueue();
  private users = new Int32Array(USER_WORDS * 16);

  /** Makes rows for users 1 to `userRows` - 1 exist. */
  ensureUsers(userRows: number): void {
    if (userRows * USER_WORDS <= this.users.length) return;
    const users = new Int32Array(Math.max(userRows * USER_WORDS, this.users.length * 2));
    users.set(this.users);
    this.users = users;
  }

  countOf(userId: number): number {
    return this.users[userId * USER_WORDS + OfUser.count]!;
  }

  wordsOf(userId: number): number {
    return this.users[userId * USER_WORDS + OfUser.words]!;
  }

  /** The user's oldest entry; 0: none. */
  oldestOf(userId: number): number {
    const oldest = this.users[userId * USER_WORDS + OfUser.oldest]!;
    return oldest === 0 ? 0 : this.links.get(oldest - 1 + Link.entry);
  }

  add(userId: number, entry: number, words: number): void {
    const { users, links } = this;
    const at = userId * USER_WORDS;
    const newest = users[at + OfUser.newest]!;
    const link = this.append(entry) + 1;
    if (newest === 0) users[at + OfUser.oldest] = link;
    else links.set(newest - 1 + Link.toNext, links.distance(newest, link));
    users[at + OfUser.newest] = link;
    users[at + OfUser.count] = users[at + OfUser.count]! + 1;
    users[at + OfUser.words] = users[at + OfUser.words]! + words;
  }

  /** Removes the oldest entry of all, which is the user's and has this many words. */
  removeOldest(userId: number, words: number): void {
    const { users, links } = this;
    const at = userId * USER_WORDS;
    const oldest = users[at + OfUser.oldest]!;
    const toNext = links.get(oldest - 1 + Link.toNext);
    users[at + OfUser.oldest] = toNext === 0 ? 0 : links.after(oldest - 1, toNext) + 1;
    if (toNext === 0) users[at + OfUser.newest] = 0;
    users[at + OfUser.count] = users[at + OfUser.count]! - 1;
    users[at + OfUser.words] = users[at + OfUser.words]! - words;
    links.drop(LINK_WORDS);
  }

  private append(entry: number): number {
    const { links } = this;
    const link = links.end;
    // A page has an even number of words.
    const page = links.roomInPage(LINK_WORDS)!;
    const at = links.placeOfEnd;
    page[at + Link.entry] = entry;
    page[at + Link.toNext] = 0;
    links.extend(at + LINK_WORDS);
    return link;
  }
}
