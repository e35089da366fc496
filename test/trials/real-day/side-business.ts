/**
 * What a test user does besides trading: stakes in the vault, claims yield, unstakes, changes the
 * referral code, and tries what must be refused. All answers go into the user's books. One request
 * at a time, and none while another request of the user is in progress.
 */
import { expect } from 'vitest';
import type { Random } from '../../../bench/workload/random.js';
import type { Answer, ApiClient } from '../../support/server.js';
import type { TradingClient } from './trading-client.js';

/** The number of codes that a user may ever have. */
const CODES_MAX = 20;

/** What the users of a run know of each other. */
export interface Neighbourhood {
  /** Everybody's deposits, open or closed. */
  depositIds: string[];
  /** The owner of each referral code that was ever set. */
  ownerOfCode: Map<string, string>;
}

export class SideBusiness {
  constructor(
    private readonly api: ApiClient,
    private readonly user: TradingClient,
    private readonly random: Random,
    private readonly others: Neighbourhood,
  ) {}

  /** One action at random. */
  async act(): Promise<void> {
    const isStaker = this.open().length > 0;
    const action = this.random.weighted({
      stake: isStaker ? 2 : 4,
      claimYield: isStaker ? 3 : 0,
      unstake: isStaker ? 2 : 0,
      code: this.user.codes.length < CODES_MAX ? 1 : 0,
      nonsense: 1,
    });
    switch (action) {
      case 'stake':
        return this.stake();
      case 'claimYield':
        return this.claimYield(this.random.pick(this.open()));
      case 'unstake':
        return this.unstake(this.random.pick(this.open()));
      case 'code':
        return this.changeCode();
      case 'nonsense':
        return this.beRefused();
    }
  }

  private async stake(): Promise<void> {
    const amount = this.random.whole(1_000_000, 400_000_000) / 1_000_000;
    const answer = await this.post('/vaults/flex/stake', { amount });
    if (this.isRefused(answer, 'insufficient_balance')) return;
    expect(answer.status, answer.text).toBe(201);
    this.user.ledger.staked(answer.json);
    this.others.depositIds.push(answer.json.depositId);
    this.user.count('staked');
    // It has earned nothing yet.
    if (this.random.chance(0.3)) await this.claimYield(answer.json.depositId);
  }

  private async claimYield(depositId: string): Promise<void> {
    const answer = await this.post(`/vaults/deposits/${depositId}/claim`, {});
    if (this.isRefused(answer, 'nothing_to_claim')) return;
    expect(answer.status, answer.text).toBe(200);
    this.user.ledger.yieldClaimed(answer.json);
    this.user.count('yield claimed');
  }

  private async unstake(depositId: string): Promise<void> {
    const answer = await this.post(`/vaults/deposits/${depositId}/unstake`, {});
    expect(answer.status, answer.text).toBe(200);
    this.user.ledger.unstaked(answer.json);
    this.user.count('unstaked');
  }

  async changeCode(): Promise<void> {
    const code = `R-${this.user.userId}-${this.user.codes.length}`;
    const answer = await this.api.put(
      `/users/${this.user.userId}/referral/code`,
      { code },
      this.user.token,
    );
    expect(answer.status, answer.text).toBe(200);
    expect(answer.json.code).toBe(code.toUpperCase());
    this.user.codes.push(answer.json.code);
    this.others.ownerOfCode.set(answer.json.code, this.user.userId);
    this.user.count('codes changed');
  }

  /** Another user's deposit, the user's own a second time, another user's code in another case. */
  private async beRefused(): Promise<void> {
    const { ledger, userId, token } = this.user;
    const others = this.others.depositIds.filter((id) => !ledger.deposits.has(id));
    const closed = [...ledger.deposits.values()].find(
      ({ closedSequence }) => closedSequence !== null,
    );
    const codes = [...this.others.ownerOfCode].filter(([, owner]) => owner !== userId);
    const verb = this.random.pick(['unstake', 'claim']);
    if (others.length > 0) {
      const answer = await this.post(`/vaults/deposits/${this.random.pick(others)}/${verb}`, {});
      expect(this.isRefused(answer, 'deposit_not_found'), answer.text).toBe(true);
    }
    if (closed !== undefined) {
      const answer = await this.post(`/vaults/deposits/${closed.depositId}/${verb}`, {});
      expect(this.isRefused(answer, 'deposit_closed'), answer.text).toBe(true);
    }
    if (codes.length > 0) {
      const code = this.random.pick(codes)[0].toLowerCase();
      const answer = await this.api.put(`/users/${userId}/referral/code`, { code }, token);
      expect(this.isRefused(answer, 'referral_code_taken'), answer.text).toBe(true);
    }
  }

  private open(): string[] {
    const deposits = [...this.user.ledger.deposits.values()];
    return deposits
      .filter(({ closedSequence }) => closedSequence === null)
      .map(({ depositId }) => depositId);
  }

  private post(path: string, body: object): Promise<Answer> {
    return this.api.post(path, body, this.user.token);
  }

  private isRefused(answer: Answer, code: string): boolean {
    if (answer.json.error?.code !== code) return false;
    this.user.count(code);
    return true;
  }
}
