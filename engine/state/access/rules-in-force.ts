/** The rules in force (interface/rule-sets.ts), from the last `setRules`. */
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

  view(): Rules {
    return {
      ruleSet: this.ruleSet,
      takerFeeBasisPoints: this.takerFeeBasisPoints,
      vaultSharePercent: this.vaultSharePercent,
      maxOrderMicros: this.maxOrderMicros,
      maxOpenOrders: this.maxOpenOrders,
      minRestingMicros: this.minRestingMicros,
    };
  }

  archive(archive: Archive): void {
    this.set(archivedRules(archive, this));
  }
}

/** Writes the rules, or reads and returns the archive's. */
export function archivedRules(archive: Archive, rules: Rules): Rules {
  return {
    ruleSet: archive.number(rules.ruleSet),
    takerFeeBasisPoints: archive.number(rules.takerFeeBasisPoints),
    vaultSharePercent: archive.number(rules.vaultSharePercent),
    maxOrderMicros: archive.number(rules.maxOrderMicros),
    maxOpenOrders: archive.number(rules.maxOpenOrders),
    minRestingMicros: archive.number(rules.minRestingMicros),
  };
}
