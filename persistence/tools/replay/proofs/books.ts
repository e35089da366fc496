/**
 * A second set of books, kept from events alone. After every batch each pot of the engine's funds
 * must have what the books give.
 *
 * The vault's share of a market's fees leaves the escrow at the resolution, but the event
 * `feesShared` comes later, when the last position is settled. So the fee escrow and the yield due
 * are compared as one sum.
 */
import type { Engine } from '../../../../engine/engine.js';
import { MatchType } from '../../../../engine/interface/domain.js';
import type { EventRecord } from '../../../../engine/interface/events.js';
import { MICROS_PER_SET } from '../../../../engine/interface/limits.js';
import { microsText } from '../../../../engine/interface/notation.js';
import { changesOf } from '../../../history/account/changes.js';

const dollarsText = (micros: number) => `$${microsText(micros)}`;

export class Books {
  private netDepositsMicros = 0;
  private availableMicros = 0;
  private heldMicros = 0;
  private stakedMicros = 0;
  private treasuryMicros = 0;
  private collateralMicros = 0;
  /** Fees and yield that are not paid yet. */
  private escrowAndYieldMicros = 0;

  add(event: EventRecord): void {
    for (const change of changesOf(event)) {
      this.availableMicros += change.availableMicros;
      this.heldMicros += change.heldMicros;
    }
    switch (event.type) {
      case 'deposited':
        this.netDepositsMicros += event.amountMicros;
        break;
      case 'withdrawn':
        this.netDepositsMicros -= event.amountMicros;
        break;
      case 'staked':
        this.stakedMicros += event.amountMicros;
        break;
      case 'unstaked':
        this.stakedMicros -= event.amountMicros;
        this.escrowAndYieldMicros -= event.yieldMicros;
        break;
      case 'yieldClaimed':
        this.escrowAndYieldMicros -= event.yieldMicros;
        break;
      case 'vaultRemainder':
        this.escrowAndYieldMicros -= event.amountMicros;
        this.treasuryMicros += event.amountMicros;
        break;
      case 'trade':
        this.escrowAndYieldMicros += event.feeMicros;
        if (event.matchType === MatchType.MINT) this.addSets(event.sizeLots);
        if (event.matchType === MatchType.MERGE) this.addSets(0 - event.sizeLots);
        break;
      case 'setsSplit':
        this.escrowAndYieldMicros += event.feeMicros;
        this.addSets(event.sizeLots);
        break;
      case 'setsMerged':
        this.addSets(0 - event.sizeLots);
        break;
      case 'referralEarned':
      case 'makerShareEarned':
        this.escrowAndYieldMicros -= event.amountMicros;
        break;
      case 'feesShared':
        this.escrowAndYieldMicros -= event.treasuryMicros;
        this.treasuryMicros += event.treasuryMicros;
        break;
      case 'claimed':
        this.collateralMicros -= event.payoutMicros;
        this.escrowAndYieldMicros -= event.refundMicros;
        break;
    }
  }

  private addSets(lots: number): void {
    this.collateralMicros += lots * MICROS_PER_SET;
  }

  /** Where the engine's funds differ from the books. */
  problems(engine: Engine): string[] {
    const { netDepositsMicros, ...pots } = engine.funds();
    const escrowAndYieldMicros = pots.feeEscrowMicros + pots.yieldDueMicros;
    const sumMicros = Object.values(pots).reduce((total, micros) => total + micros, 0);
    const compared: [name: string, actualMicros: number, expectedMicros: number][] = [
      ['available funds of users', pots.availableMicros, this.availableMicros],
      ['held funds of users', pots.heldMicros, this.heldMicros],
      ['stakes in the vault', pots.stakedMicros, this.stakedMicros],
      ['treasury', pots.treasuryMicros, this.treasuryMicros],
      ['collateral', pots.collateralMicros, this.collateralMicros],
      ['fee escrow and yield due', escrowAndYieldMicros, this.escrowAndYieldMicros],
      ['deposits less withdrawals', netDepositsMicros, this.netDepositsMicros],
      ['money is not conserved: all funds', sumMicros, netDepositsMicros],
    ];
    const different = compared
      .filter(([, actual, expected]) => actual !== expected)
      .map(
        ([name, actual, expected]) =>
          `${name}: ${dollarsText(actual)}, not ${dollarsText(expected)}`,
      );
    const negative = Object.entries(pots)
      .filter(([, micros]) => micros < 0)
      .map(([name]) => `${name} is negative`);
    return [...different, ...negative];
  }
}
