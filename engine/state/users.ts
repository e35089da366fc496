/**
 * Accounts: names, credentials, referrals. User ids are 1, 2, …, and no user is ever removed. Names
 * are unique regardless of case.
 */
import { REFERRAL_DIVISOR } from '../interface/parameters.js';
import type { Archive } from '../storage/archive.js';
import { Int32Column, Int53Column } from '../storage/columns.js';
import { HashIndex } from '../storage/hash-index.js';
import type { TextHash } from '../storage/text-hash.js';
import { LongTexts, ShortTexts } from '../storage/texts.js';
import type { UndoLog } from '../storage/undo.js';
import { Partners } from './partners.js';
import { ReferralCodes } from './referral-codes.js';

export interface NewUser {
  username: string;
  credential: string;
  /** 0: nobody. */
  referrerId: number;
  /** Number of the partner that registers the user; 0: none. */
  partner: number;
}

export class Users {
  count = 0;
  readonly codes: ReferralCodes;
  readonly partners = new Partners();
  /** By user id; 0 is nobody. */
  private readonly usernames = new ShortTexts();
  private readonly credentials = new LongTexts();
  private readonly byUsername = new HashIndex();
  readonly credentialVersion: Int32Column;
  readonly createdAtMs: Int53Column;
  /** 0: nobody. */
  readonly referrer: Int32Column;
  /** Number of the partner that registered the user; 0: none. */
  readonly partner: Int32Column;
  readonly referredUsers: Int32Column;
  readonly referralEarned: Int53Column;
  /** Fees that referred users have paid in markets that are not settled. */
  readonly referralPendingFees: Int53Column;

  constructor(
    undo: UndoLog,
    private readonly hash: TextHash,
  ) {
    this.codes = new ReferralCodes(hash);
    this.credentialVersion = new Int32Column(undo);
    this.createdAtMs = new Int53Column(undo);
    this.referrer = new Int32Column(undo);
    this.partner = new Int32Column(undo);
    this.referredUsers = new Int32Column(undo);
    this.referralEarned = new Int53Column(undo);
    this.referralPendingFees = new Int53Column(undo);
  }

  /** Makes room in the columns that have to move when they grow, and in the indexes. */
  reserve(rows: number, indexedUsers: number): void {
    for (const column of this.columns()) column.ensure(rows);
    if (!this.byUsername.hasRoomFor(indexedUsers)) this.rebuildIndexes(indexedUsers);
  }

  ensureUsers(rows: number): void {
    this.usernames.ensure(rows);
    this.credentials.ensure(rows);
    this.codes.ensureUsers(rows);
    for (const column of this.columns()) column.ensure(rows);
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
    this.byUsername.add(this.hashOf(username.toLowerCase()), userId);
    this.credentialVersion.set(userId, 1);
    this.createdAtMs.set(userId, atMs);
    this.referrer.set(userId, referrerId);
    this.partner.set(userId, partner);
    if (referrerId !== 0)
      this.referredUsers.set(referrerId, this.referredUsers.values[referrerId]! + 1);
    this.codes.addFirst(userId);
    return userId;
  }

  /** The user of a name, in any case; 0: nobody. */
  find(username: string): number {
    const lower = username.toLowerCase();
    let userId = this.byUsername.first(this.hashOf(lower));
    while (userId !== 0 && this.username(userId).toLowerCase() !== lower)
      userId = this.byUsername.next(userId);
    return userId;
  }

  /** The referrer's part of the fees of markets that are not settled. */
  pendingReferralMicros(userId: number): number {
    return Math.floor(this.referralPendingFees.values[userId]! / REFERRAL_DIVISOR);
  }

  username(userId: number): string {
    return this.usernames.get(userId);
  }

  credential(userId: number): string {
    return this.credentials.get(userId);
  }

  /** Nobody can sign in to an account of the exchange. */
  isOfExchange(userId: number): boolean {
    return this.credentials.isEmpty(userId);
  }

  setCredential(userId: number, credential: string): number {
    this.credentials.set(userId, credential);
    const version = this.credentialVersion.values[userId]! + 1;
    this.credentialVersion.set(userId, version);
    return version;
  }

  /** Rebuilds the indexes, for a new key of the hash or for that many users. */
  rebuildIndexes(expectedUsers = 0): void {
    this.byUsername.clear(expectedUsers);
    for (let userId = 1; userId <= this.count; userId++) {
      this.byUsername.add(this.usernames.lowerHashOf(userId, this.hash), userId);
    }
    this.codes.rebuildIndex(expectedUsers);
  }

  archive(archive: Archive): void {
    this.count = archive.number(this.count);
    const rows = this.count + 1;
    this.usernames.archive(archive, rows);
    this.credentials.archive(archive, rows);
    this.codes.archive(archive, rows);
    this.partners.archive(archive);
    for (const column of this.columns()) column.archive(archive, rows);
    if (archive.reading) this.rebuildIndexes(this.count);
  }

  private hashOf(lowerName: string): number {
    return this.hash.of(0, lowerName);
  }

  private columns(): (Int53Column | Int32Column)[] {
    return [
      this.credentialVersion,
      this.createdAtMs,
      this.referrer,
      this.partner,
      this.referredUsers,
      this.referralEarned,
      this.referralPendingFees,
    ];
  }
}
