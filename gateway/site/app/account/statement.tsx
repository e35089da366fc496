/** The statement: every change of the user's money and shares, with the balance after it. */
import { type Signal, useSignal } from '@preact/signals';
import {
  isRefusal,
  type Ledger,
  type LedgerFilter,
  ledger,
  toLots,
  toMicros,
} from '../../../client/index.js';
import { balance } from '../model/account.js';
import { api } from '../model/exchange.js';
import { user } from '../model/session.js';
import { Action } from '../parts/action.js';
import { Select, TextField } from '../parts/form.js';
import { dayAndSeconds, endOfDay, gain, shares, slotName, startOfDay } from '../parts/format.js';
import { Money, Outcome, Panel } from '../parts/panel.js';
import { Paged } from '../parts/reading.js';
import { mixed, t } from '../words/words.js';
import { fileName, readStatement } from './statement-csv.js';

type Entry = Ledger['entries'][number];
type Cause = Entry['cause'];

const CAUSES: Record<Cause, string> = {
  grant: t('Play money at the start'),
  deposit: t('Deposit'),
  withdrawal: t('Withdrawal'),
  transfer_in: t('From another account of yours'),
  transfer_out: t('To another account of yours'),
  fill: t('Trade'),
  fee: t('Trading fee'),
  hold: t('Held for an open order'),
  release: t('Released from an open order'),
  split: t('Dollars turned into pairs'),
  merge: t('Pairs turned into dollars'),
  claim: t('Market decided'),
  refund: t('Fees refunded, market VOID'),
  stake: t('Staked in the vault'),
  unstake: t('Unstaked from the vault'),
  yield: t('Vault yield'),
  referral: t('Referral'),
  maker_share: t("Share of takers' fees"),
};
const CAUSES_BY_NAME = Object.entries(CAUSES) as [Cause, string][];

export function StatementPanel() {
  const userId = user.value?.userId ?? '';
  const filter = useSignal<LedgerFilter>({});
  const problem = useSignal<string | undefined>(undefined);
  const about = `${userId} ${JSON.stringify(filter.value)}`;
  return (
    <div class="stack">
      <Panel title={t('Filter')}>
        <FilterForm filter={filter} problem={problem} />
      </Panel>
      <Paged
        title={t('Statement')}
        extra={<Download userId={userId} filter={filter} />}
        about={about}
        news={balance.value}
        list="entries"
        read={async (cursor): Promise<Pick<Ledger, 'entries' | 'nextCursor'>> => {
          try {
            return await ledger(api, userId, { ...filter.peek(), cursor });
          } catch (error) {
            if (!isRefusal(error, 'market_not_found')) throw error;
            problem.value = t('No market has this ID.');
            return { entries: [], nextCursor: null };
          }
        }}
        heads={[
          t('Entry'),
          t('Time'),
          t('Available'),
          t('Held'),
          t('Shares'),
          t('Available after'),
          t('No.'),
        ]}
        nothing={t('No entries.')}
        rows={(entries) =>
          groupsOf(entries).map((group) => ({
            key: `${group[0]!.sequence} ${group.at(-1)!.sequence} ${group[0]!.cause}`,
            cells: cellsOf(group),
          }))
        }
      />
    </div>
  );
}

function FilterForm(props: { filter: Signal<LedgerFilter>; problem: Signal<string | undefined> }) {
  const cause = useSignal<Cause | ''>('');
  const marketId = useSignal('');
  const from = useSignal('');
  const to = useSignal('');
  const dayProblem = useSignal<string | undefined>(undefined);
  const submit = (event: Event) => {
    event.preventDefault();
    const [fromMs, toMs] = [startOfDay(from.peek()), endOfDay(to.peek())];
    props.problem.value = undefined;
    const isBackward = fromMs !== undefined && toMs !== undefined && fromMs > toMs;
    dayProblem.value = isBackward ? t('The last day is before the first.') : undefined;
    if (isBackward) return;
    const market = marketId.peek().trim().toLowerCase();
    props.filter.value = {
      cause: cause.peek() || undefined,
      marketId: market || undefined,
      fromMs,
      toMs,
    };
  };
  return (
    <form class="filters panel-body" onSubmit={submit} noValidate>
      <Select
        label={t('Type')}
        name="cause"
        value={cause}
        options={[['', t('All')], ...CAUSES_BY_NAME]}
      />
      <TextField
        label={t('Market ID')}
        name="marketId"
        value={marketId}
        problem={props.problem.value}
      />
      <TextField label={t('First day')} name="from" type="date" value={from} />
      <TextField
        label={t('Last day')}
        name="to"
        type="date"
        value={to}
        problem={dayProblem.value}
      />
      <button type="submit" class="plain strong">
        {t('Show')}
      </button>
    </form>
  );
}

function Download({ userId, filter }: { userId: string; filter: Signal<LedgerFilter> }) {
  const said = useSignal('');
  const run = async () => {
    const parts = await readStatement(api, userId, filter.peek(), (entries) => {
      said.value = entries === 1 ? t('1 entry') : t('{0} entries', entries);
    });
    save(new Blob(parts, { type: 'text/csv' }), fileName(userId, filter.peek()));
  };
  return (
    <span class="actions">
      <span class="soft" role="status">
        {said.value}
      </span>
      <Action run={run}>{t('Download CSV')}</Action>
    </span>
  );
}

/** Saves from memory, so that the file is complete or absent. */
function save(file: Blob, name: string): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(file);
  link.download = name;
  link.click();
  // The browser takes over the file while it handles the click.
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

/** Groups the entries of one order, or of one command without an order; newest first. */
function groupsOf(entries: readonly Entry[]): Entry[][] {
  const groups: Entry[][] = [];
  for (const entry of entries) {
    const last = groups.at(-1);
    const isSame = entry.orderId !== null && last?.[0]?.orderId === entry.orderId;
    if (isSame) last!.push(entry);
    else groups.push([entry]);
  }
  return groups;
}

function cellsOf(group: readonly Entry[]) {
  const [newest] = group as [Entry];
  const { marketId, atMs, balance, sequence } = newest;
  const sum = (of: (entry: Entry) => number) => group.reduce((total, each) => total + of(each), 0);
  const market = marketId !== null && <a href={`#/market/${marketId}`}>{slotName(marketId)}</a>;
  const lots = (outcome: 'UP' | 'DOWN') =>
    sum(({ shares: of }) => (of?.outcome === outcome ? toLots(of.change) : 0));
  const isBuy = lots('UP') + lots('DOWN') > 0;
  const isTrade = lots('UP') !== 0 || lots('DOWN') !== 0;
  return [
    group.length === 1 ? (
      <>
        {CAUSES[newest.cause]} {market}
      </>
    ) : (
      <>
        <details>
          <summary>
            {isTrade ? (isBuy ? t('Bought') : t('Sold')) : t('Order')},{' '}
            {mixed('{0} entries', group.length)}
          </summary>
          <ul class="entries">
            {group.map((each, index) => (
              <li key={index}>
                {CAUSES[each.cause]}: {changed(each.available) || '\u2013'}
                {each.held !== 0 && <>{mixed(', held {0}', changed(each.held))}</>}
                {each.shares !== null && (
                  <>
                    , <Shares lots={toLots(each.shares.change)} of={each.shares.outcome} />
                  </>
                )}
              </li>
            ))}
          </ul>
        </details>{' '}
        {market}
      </>
    ),
    dayAndSeconds(atMs),
    <Change key="available" micros={sum(({ available }) => toMicros(available))} />,
    <Change key="held" micros={sum(({ held }) => toMicros(held))} />,
    (['UP', 'DOWN'] as const)
      .filter((outcome) => lots(outcome) !== 0)
      .map((outcome) => <Shares key={outcome} lots={lots(outcome)} of={outcome} />),
    <Money key="after" micros={toMicros(balance.available)} />,
    `${sequence}`,
  ];
}

function Shares({ lots, of }: { lots: number; of: 'UP' | 'DOWN' }) {
  return (
    <>
      {lots > 0 ? '+' : '\u2212'}
      {shares(Math.abs(lots))} <Outcome of={of} />{' '}
    </>
  );
}

function Change({ micros }: { micros: number }) {
  return micros === 0 ? null : <Money micros={micros} as={gain} />;
}

function changed(amount: number): string {
  return amount === 0 ? '' : gain(toMicros(amount));
}
