/** The last actions of operators, with their reasons, oldest first. The journal has all actions. */
import { CommandKind } from '../../interface/commands.js';
import { OPERATOR_ACTIONS_KEPT } from '../../interface/limits.js';
import { FIRST_RULES } from '../../interface/rule-sets.js';
import type { OperatorActionView } from '../../interface/views.js';
import { type Archive, archivedList } from '../../storage/archive.js';
import { archivedRules } from './rules-in-force.js';

const NO_ACTION: OperatorActionView = {
  actionId: 0,
  sequence: 0,
  atMs: 0,
  kind: 0,
  isSet: false,
  operator: '',
  reason: '',
  userId: 0,
  marketId: 0,
  asset: -1,
  rateTier: 0,
  rules: null,
};

export class OperatorActions {
  private actions: OperatorActionView[] = [];
  private lastId = 0;

  /** Returns the action's id: 1, 2, … */
  add(action: Omit<OperatorActionView, 'actionId'>): number {
    this.lastId++;
    this.actions.push({ actionId: this.lastId, ...action });
    if (this.actions.length > OPERATOR_ACTIONS_KEPT) this.actions.shift();
    return this.lastId;
  }

  newestFirst(): OperatorActionView[] {
    return this.actions.map((action) => ({ ...action })).reverse();
  }

  /** Why an operator declared the market VOID; null if none of the kept actions did. */
  voidReason(marketId: number): string | null {
    const isIt = (one: OperatorActionView) =>
      one.kind === CommandKind.voidMarket && one.marketId === marketId;
    return this.actions.findLast(isIt)?.reason ?? null;
  }

  archive(archive: Archive): void {
    this.lastId = archive.number(this.lastId);
    this.actions = archivedList(archive, this.actions, (action) => archived(archive, action));
  }
}

function archived(archive: Archive, action = NO_ACTION): OperatorActionView {
  const read: OperatorActionView = {
    actionId: archive.number(action.actionId),
    sequence: archive.number(action.sequence),
    atMs: archive.number(action.atMs),
    kind: archive.number(action.kind),
    isSet: archive.number(Number(action.isSet)) === 1,
    operator: archive.text(action.operator),
    reason: archive.text(action.reason),
    userId: archive.number(action.userId),
    marketId: archive.number(action.marketId),
    asset: archive.number(action.asset),
    rateTier: archive.number(action.rateTier),
    rules: null,
  };
  if (read.kind === CommandKind.setRules)
    read.rules = archivedRules(archive, action.rules ?? FIRST_RULES);
  return read;
}
