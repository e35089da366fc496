/**
 * Who has an account: names, credentials, referral codes. User ids are 1, 2, …; nobody is ever removed. Names and
 * codes are unique without regard to case, and a code that was once somebody's leads to them for ever.
 */
import type { Archive } from './archive.js';
import { FloatColumn, IntColumn } from './columns.js';
import type { UndoLog } from './undo.js';

const USERNAME = /^[A-Za-z0-9_-]{3,20}$/;
const REFERRAL_CODE = /^[A-Z0-9_-]{3,20}$/;

export class Users {
  /** Index = user id; entry 0 is nobody. */
  private readonly usernames: string[] = [''];
  private readonly credentials: string[] = [''];
  private readonly codes: string[] = [''];
  private readonly idOfUsername = new Map<string, number>();
  private readonly ownerOfCode = new Map<string, number>();
  readonly credentialVersion: IntColumn;
  readonly createdAtMs: FloatColumn;
  /** 0: nobody. */
  readonly referrer: IntColumn;
  readonly referredUsers: IntColumn;
  readonly referralEarned: FloatColumn;
  /** Fees that referred users have paid in markets that are not settled: what a referral may yet bring. */
  readonly referralPendingFees: FloatColumn;
  /** Codes that lead to the user, old ones included. */
  readonly codeCount: IntColumn;

  constructor(undo: UndoLog) {
    this.credentialVersion = new IntColumn(undo);
    this.createdAtMs = new FloatColumn(undo);
    this.referrer = new IntColumn(undo);
    this.referredUsers = new IntColumn(undo);
    this.referralEarned = new FloatColumn(undo);
    this.referralPendingFees = new FloatColumn(undo);
    this.codeCount = new IntColumn(undo);
  }

  get count(): number {
    return this.usernames.length - 1;
  }

  ensureUsers(rows: number): void {
    for (const column of this.columns()) column.ensure(rows);
  }

  exists(userId: number): boolean {
    return Number.isInteger(userId) && userId >= 1 && userId < this.usernames.length;
  }

  add(username: string, credential: string, referrerId: number, atMs: number): number {
    const userId = this.usernames.length;
    this.usernames.push(username);
    this.credentials.push(credential);
    this.idOfUsername.set(username.toLowerCase(), userId);
    this.ensureUsers(userId + 1);
    this.credentialVersion.set(userId, 1);
    this.createdAtMs.set(userId, atMs);
    this.referrer.set(userId, referrerId);
    if (referrerId !== 0) this.referredUsers.set(referrerId, this.referredUsers.values[referrerId]! + 1);
    const code = this.firstCode(userId);
    this.codes.push(code);
    this.ownerOfCode.set(code, userId);
    this.codeCount.set(userId, 1);
    return userId;
  }

  /** 0: nobody. */
  find(username: string): number {
    return this.idOfUsername.get(username.toLowerCase()) ?? 0;
  }

  /** The owner of a code, in any case; 0: nobody. */
  findByCode(code: string): number {
    return this.ownerOfCode.get(code.toUpperCase()) ?? 0;
  }

  username(userId: number): string {
    return this.usernames[userId]!;
  }

  credential(userId: number): string {
    return this.credentials[userId]!;
  }

  setCredential(userId: number, credential: string): number {
    this.credentials[userId] = credential;
    const version = this.credentialVersion.values[userId]! + 1;
    this.credentialVersion.set(userId, version);
    return version;
  }

  code(userId: number): string {
    return this.codes[userId]!;
  }

  /** Makes a code that is free, or the user's own already, the current one. */
  setCode(userId: number, code: string): void {
    const canonical = code.toUpperCase();
    if (!this.ownerOfCode.has(canonical)) this.codeCount.set(userId, this.codeCount.values[userId]! + 1);
    this.codes[userId] = canonical;
    this.ownerOfCode.set(canonical, userId);
  }

  archive(archive: Archive): void {
    const count = archive.number(this.count);
    for (let userId = 1; userId <= count; userId++) {
      this.usernames[userId] = archive.text(archive.reading ? '' : this.usernames[userId]!);
      this.credentials[userId] = archive.text(archive.reading ? '' : this.credentials[userId]!);
      this.codes[userId] = archive.text(archive.reading ? '' : this.codes[userId]!);
      if (archive.reading) this.idOfUsername.set(this.usernames[userId]!.toLowerCase(), userId);
    }
    this.archiveCodes(archive);
    for (const column of this.columns()) column.archive(archive, count + 1);
  }

  /** All codes with their owners, in the order in which they were taken. */
  private archiveCodes(archive: Archive): void {
    const size = archive.number(this.ownerOfCode.size);
    if (archive.reading) {
      for (let i = 0; i < size; i++) this.ownerOfCode.set(archive.text(''), archive.number(0));
      return;
    }
    for (const [code, owner] of this.ownerOfCode) {
      archive.text(code);
      archive.number(owner);
    }
  }

  private columns(): (FloatColumn | IntColumn)[] {
    return [
      this.credentialVersion,
      this.createdAtMs,
      this.referrer,
      this.referredUsers,
      this.referralEarned,
      this.referralPendingFees,
      this.codeCount,
    ];
  }

  private firstCode(userId: number): string {
    let code = `Q${userId.toString(36).toUpperCase().padStart(6, '0')}`;
    while (this.ownerOfCode.has(code)) code = `Q${code}`;
    return code;
  }
}

export function isUsername(text: string): boolean {
  return USERNAME.test(text);
}

export function isReferralCode(text: string): boolean {
  return REFERRAL_CODE.test(text.toUpperCase());
}
