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
import { fileName, readStatement } from './statement-csv.js';

type Entry = Ledger['entries'][number];
type Cause = Entry['cause'];

const CAUSES: Record<Cause, string> = {
  grant: 'Play money at the start',
  deposit: 'Deposit',
  withdrawal: 'Withdrawal',
  transfer_in: 'From another account of yours',
  transfer_out: 'To another account of yours',
  fill: 'Trade',
  fee: 'Trading fee',
  hold: 'Held for an open order',
  release: 'Released from an open order',
  split: 'Dollars turned into pairs',
  merge: 'Pairs turned into dollars',
  claim: 'Market decided',
  refund: 'Fees refunded, market VOID',
  stake: 'Staked in the vault',
  unstake: 'Unstaked from the vault',
  yield: 'Vault yield',
  referral: 'Referral',
  maker_share: 'Share of the fees of takers',
};
const CAUSES_BY_NAME = Object.entries(CAUSES) as [Cause, string][];

export function StatementPanel() {
  const userId = user.value?.userId ?? '';
  const filter = useSignal<LedgerFilter>({});
  const problem = useSignal<string | undefined>(undefined);
  const about = `${userId} ${JSON.stringify(filter.value)}`;
  return (
    <div class="stack">
      <Panel title="Filter">
        <FilterForm filter={filter} problem={problem} />
      </Panel>
      <Panel title="Statement" extra={<Download userId={userId} filter={filter} />}>
        <Paged
          about={about}
          news={balance.value}
          list="entries"
          read={async (cursor): Promise<Pick<Ledger, 'entries' | 'nextCursor'>> => {
            try {
              return await ledger(api, userId, { ...filter.peek(), cursor });
            } catch (error) {
              if (!isRefusal(error, 'market_not_found')) throw error;
              problem.value = 'No market has this ID.';
              return { entries: [], nextCursor: null };
            }
          }}
          label="Statement"
          heads={['Entry', 'Time', 'Available', 'Held', 'Shares', 'Available after', 'No.']}
          nothing="No entries."
          rows={(entries) =>
            groupsOf(entries).map((group) => ({
              key: `${group[0]!.sequence} ${group.at(-1)!.sequence} ${group[0]!.cause}`,
              cells: cellsOf(group),
            }))
          }
        />
      </Panel>
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
    dayProblem.value = isBackward ? 'The last day is before the first.' : undefined;
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
      <Select label="Type" name="cause" value={cause} options={[['', 'All'], ...CAUSES_BY_NAME]} />
      <TextField label="Market ID" name="marketId" value={marketId} problem={props.problem.value} />
      <TextField label="First day" name="from" type="date" value={from} />
      <TextField label="Last day" name="to" type="date" value={to} problem={dayProblem.value} />
      <button type="submit" class="plain strong">
        Show
      </button>
    </form>
  );
}

function Download({ userId, filter }: { userId: string; filter: Signal<LedgerFilter> }) {
  const said = useSignal('');
  const run = async () => {
    const parts = await readStatement(api, userId, filter.peek(), (entries) => {
      said.value = `${entries} ${entries === 1 ? 'entry' : 'entries'}`;
    });
    save(new Blob(parts, { type: 'text/csv' }), fileName(userId, filter.peek()));
  };
  return (
    <span class="actions">
      <span class="soft" role="status">
        {said.value}
      </span>
      <Action run={run}>Download CSV</Action>
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
            {isTrade ? (isBuy ? 'Bought' : 'Sold') : 'Order'}, {group.length} entries
          </summary>
          <ul class="entries">
            {group.map((each, index) => (
              <li key={index}>
                {CAUSES[each.cause]}: {changed(each.available) || '\u2013'}
                {each.held !== 0 && <>, held {changed(each.held)}</>}
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
