/** The rules in force (interface/rule-sets.ts), as the last `setRules` has set them. */
import { FIRST_RULES, type Rules } from '../../interface/rule-sets.js';
import type { Archive } from '../../storage/archive.js';

export class RulesInForce implements Rules {
  ruleSet = FIRST_RULES.ruleSet;
  takerFeeBasisPoints = FIRST_RULES.takerFeeBasisPoints;
  vaultSharePercent = FIRST_RULES.vaultSharePercent;
  maxOrderMicros = FIRST_RULES.maxOrderMicros;
  maxOpenOrders = FIRST_RULES.maxOpenOrders;
  minRestingMicros = FIRST_RULES.minRestingMicros;

  set(rules: Rules): void {
    this.ruleSet = rules.ruleSet;
    this.takerFeeBasisPoints = rules.takerFeeBasisPoints;
    this.vaultSharePercent = rules.vaultSharePercent;
    this.maxOrderMicros = rules.maxOrderMicros;
    this.maxOpenOrders = rules.maxOpenOrders;
    this.minRestingMicros = rules.minRestingMicros;
  }

  /** A copy. */
  view(): Rules {
    const {
      ruleSet,
      takerFeeBasisPoints,
      vaultSharePercent,
      maxOrderMicros,
      maxOpenOrders,
      minRestingMicros,
    } = this;
    return {
      ruleSet,
      takerFeeBasisPoints,
      vaultSharePercent,
      maxOrderMicros,
      maxOpenOrders,
      minRestingMicros,
    };
  }

  archive(archive: Archive): void {
    this.ruleSet = archive.number(this.ruleSet);
    this.takerFeeBasisPoints = archive.number(this.takerFeeBasisPoints);
    this.vaultSharePercent = archive.number(this.vaultSharePercent);
    this.maxOrderMicros = archive.number(this.maxOrderMicros);
    this.maxOpenOrders = archive.number(this.maxOpenOrders);
    this.minRestingMicros = archive.number(this.minRestingMicros);
  }
}
