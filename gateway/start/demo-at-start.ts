/**
 * Detects a startup that would continue a real market as a demonstration because variables such as
 * PRICE_FEED are missing. The demonstration's commands could not be removed from the journal.
 */
import type { Engine } from '../../engine/engine.js';
import type { Log } from '../observe/log.js';
import type { Config } from './config.js';

interface DemoOptions {
  config: Pick<Config, 'feed' | 'partnerKeys' | 'startingBalanceMicros' | 'acceptDemo'>;
  engine: Engine;
  log: Log;
}

/**
 * Live prices leave their sources' names in the journal.
 * @throws if simulated prices would follow named sources, or if new accounts would get play money
 * in a journal with partners
 */
export function checkDemo({ config, engine, log }: DemoOptions): void {
  const { feed, partnerKeys, startingBalanceMicros, acceptDemo } = config;
  const sources = feed.kind === 'simulated' ? engine.priceSources() : [];
  const partner = engine.partnerName(1);
  const problems: string[] = [];
  if (sources.length > 0)
    problems.push(`its prices came from ${sources.join(' and ')}, and would be simulated now`);
  if (partner !== null && partnerKeys.length === 0 && startingBalanceMicros > 0)
    problems.push(`partners such as ${partner} use it, and new accounts would be given play money`);
  if (problems.length === 0) return;
  const problem = `this journal belongs to a real exchange, not a demonstration: ${problems.join('; ')}`;
  if (acceptDemo) log.warn({ problem }, 'a demonstration is accepted because of ACCEPT_DEMO');
  else
    throw new Error(
      `${problem}. Commands of a demonstration could not be removed from the journal. Start the ` +
        'exchange with the variables of its last startup (PRICE_FEED, PARTNER_KEYS and the others), ' +
        'or, if you intend this, set ACCEPT_DEMO=on.',
    );
}
