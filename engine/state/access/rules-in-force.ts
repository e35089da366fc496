/** The rules in force (interface/rule-sets.ts), from the last `setRules`. */
import { FIRST_RULES, RULE_NAMES, type Rules } from '../../interface/rule-sets.js';
import type { Archive } from '../../storage/archive.js';

export class RulesInForce implements Rules {
  ruleSet = FIRST_RULES.ruleSet;
  takerFeeBasisPoints = FIRST_RULES.takerFeeBasisPoints;
  curveFeeBasisPoints = FIRST_RULES.curveFeeBasisPoints;
  makerSharePercent = FIRST_RULES.makerSharePercent;
  vaultSharePercent = FIRST_RULES.vaultSharePercent;
  maxOrderMicros = FIRST_RULES.maxOrderMicros;
  maxOpenOrders = FIRST_RULES.maxOpenOrders;
  minRestingMicros = FIRST_RULES.minRestingMicros;

  set(rules: Rules): void {
    for (const name of RULE_NAMES) this[name] = rules[name];
  }

  view(): Rules {
    return { ...this };
  }

  archive(archive: Archive): void {
    this.set(archivedRules(archive, this));
  }
}

/** Writes the rules, or reads and returns the archive's. */
export function archivedRules(archive: Archive, rules: Rules): Rules {
  const archived = { ...rules };
  for (const name of RULE_NAMES) archived[name] = archive.number(rules[name]);
  return archived;
}
