/**
 * Accounts: names, credentials, referrals. User ids are 1, 2, …, and no user is ever removed. Names
 * are unique regardless of case.
 */

import { REFERRAL_DIVISOR } from '../interface/parameters.js';
import type { Archive } from '../storage/archive.js';
import type { IncrementalTask } from '../storage/incremental-task.js';
import { HashIndex } from '../storage/indexes/hash-index.js';
import { tableOf } from '../storage/table.js';
import type { TextHash } from '../storage/text-hash.js';
import { LongTexts, ShortTexts } from '../storage/texts.js';
import type { UndoLog } from '../storage/undo.js';
import { Partners } from './partners.js';
import { ReferralCodes } from './referral-codes.js';

export interface NewUser {
  username: string;
  credential: string;
  /** The user whose code this user registered with; 0 if none. */
  referrerId: number;
  /** Number of the partner that registers the user; 0 if none. */
  partner: number;
}

const ProfileTable = tableOf(64, {
  createdAtMs: 'f64',
  referralEarned: 'f64',
  /** The fees that referred users have paid in markets that are not settled. */
  referralPendingFees: 'f64',
  credentialVersion: 'i32',
  /** Number of the partner that registered the user; 0 if none. */
  partner: 'i32',
  referredUsers: 'i32',
  /** The number of positions in markets that are not paid out. */
  positionCount: 'i32',
  privacy: 'i32',
  /** 1 if the settlement of a market pays the user's position. */
  autoClaim: 'i32',
  /** The day of the last grant of startAgain, in days since the epoch; 0 if none. */
  startedAgainOn: 'i32',
  /** The owner of a sub-account; 0 for any other account. */
  parent: 'i32',
  /** The user's first sub-account, and the parent's next one; 0 if none. */
  firstSubAccount: 'i32',
  nextSubAccount: 'i32',
});

export class Users extends ProfileTable {
  count = 0;
  readonly codes: ReferralCodes;
  readonly partners = new Partners();
  /** The username of each user, from id 1. */
  private readonly usernames = new ShortTexts();
  private readonly credentials = new LongTexts();
  private readonly byUsername = new HashIndex();

  constructor(
    undo: UndoLog,
    private readonly hash: TextHash,
  ) {
    super(undo);
    this.codes = new ReferralCodes(hash);
  }

  /** Makes room in the table, which otherwise moves when it grows, and in the indexes. */
  reserve(rows: number, indexedUsers: number): void {
    this.ensure(rows);
    if (this.count < indexedUsers) this.rebuildIndexes(indexedUsers);
  }

  ensureUsers(rows: number): void {
    this.usernames.ensure(rows);
    this.credentials.ensure(rows);
    this.codes.ensureUsers(rows);
    this.ensure(rows);
  }

  exists(userId: number): boolean {
    return Number.isInteger(userId) && userId >= 1 && userId <= this.count;
  }

  add(user: NewUser, atMs: number): number {
    const { username, credential, referrerId, partner } = user;
    this.count++;
    const userId = this.count;
    this.ensureUsers(userId + 1);
    this.usernames.set(userId, username);
    this.credentials.set(userId, credential);
    this.byUsername.add(this.hash.of(username.toLowerCase()), userId);
    this.setCredentialVersion(userId, 1);
    this.setCreatedAtMs(userId, atMs);
    this.setPartner(userId, partner);
    if (referrerId !== 0) this.addReferredUsers(referrerId, 1);
    this.codes.addFirst(userId);
    return userId;
  }

  /** The user of a name, in any case; 0 if none. */
  find(username: string): number {
    const lower = username.toLowerCase();
    const hash = this.hash.of(lower);
    let userId = this.byUsername.first(hash);
    while (userId !== 0 && this.username(userId).toLowerCase() !== lower)
      userId = this.byUsername.next(hash, userId);
    return userId;
  }

  /** The referrer's part of the fees in unsettled markets. */
  pendingReferralMicros(userId: number): number {
    return Math.floor(this.referralPendingFees(userId) / REFERRAL_DIVISOR);
  }

  username(userId: number): string {
    return this.usernames.get(userId);
  }

  credential(userId: number): string {
    return this.credentials.get(userId);
  }

  /** An account without a credential that is not a sub-account; it has no sign-in. */
  isOfExchange(userId: number): boolean {
    return this.credentials.isEmpty(userId) && this.parent(userId) === 0;
  }

  subAccounts(parentId: number): number[] {
    const userIds: number[] = [];
    let userId = this.firstSubAccount(parentId);
    for (; userId !== 0; userId = this.nextSubAccount(userId)) userIds.push(userId);
    return userIds;
  }

  /** A user and its sub-accounts, the user first. */
  withSubAccounts(userId: number): number[] {
    return [userId, ...this.subAccounts(userId)];
  }

  addSubAccount(parentId: number, userId: number): void {
    const before = this.subAccounts(parentId).at(-1);
    if (before === undefined) this.setFirstSubAccount(parentId, userId);
    else this.setNextSubAccount(before, userId);
    this.setParent(userId, parentId);
  }

  setCredential(userId: number, credential: string): number {
    this.credentials.set(userId, credential);
    this.addCredentialVersion(userId, 1);
    return this.credentialVersion(userId);
  }

  /** Rebuilds the indexes, for a new key of the hash or for this many users. */
  rebuildIndexes(expectedUsers = 0): void {
    this.byUsername.clear(expectedUsers);
    for (let userId = 1; userId <= this.count; userId++) {
      this.byUsername.add(this.usernames.lowerHashOf(userId, this.hash), userId);
    }
    this.codes.rebuildIndex(expectedUsers);
  }

  *archive(archive: Archive): IncrementalTask<void> {
    this.count = archive.number(this.count);
    const rows = this.count + 1;
    this.usernames.archive(archive, rows);
    yield* this.credentials.archive(archive, rows);
    this.codes.archive(archive, rows);
    this.partners.archive(archive);
    this.archiveRows(archive, 0, rows);
    if (archive.reading) this.rebuildIndexes(this.count);
  }
}
