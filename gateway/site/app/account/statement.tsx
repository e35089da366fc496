/** The statement: every change of one's money and shares, with the balance after it. */
import { type Signal, useSignal } from '@preact/signals';
import { toLots, toMicros } from '../../../client/amounts.js';
import { isRefusal, ledger } from '../../../client/index.js';
import type { Ledger, LedgerFilter } from '../../../client/types.js';
import { api, problemOf } from '../model/exchange.js';
import { user } from '../model/session.js';
import { Action } from '../parts/action.js';
import { dayAndSeconds, dollars, endOfDay, gain, shares, startOfDay } from '../parts/format.js';
import { slotName } from '../parts/market-name.js';
import { Outcome } from '../parts/outcome.js';
import { Paged } from '../parts/paged.js';
import { Panel } from '../parts/panel.js';
import { Table } from '../parts/table.js';
import { TextField } from '../parts/text-field.js';
import { saveStatement } from './statement-csv.js';

type Entry = Ledger['entries'][number];
type Cause = Entry['cause'];

const CAUSES: Record<Cause, string> = {
  grant: 'Play money at the start',
  deposit: 'Deposit',
  withdrawal: 'Withdrawal',
  fill: 'Trade',
  fee: 'Fee of a trade',
  hold: 'Held for a resting order',
  release: 'Released from a resting order',
  claim: 'Market decided',
  refund: 'Fees of a VOID market',
  stake: 'Staked in the vault',
  unstake: 'Taken out of the vault',
  yield: 'Yield of the vault',
  referral: 'Referral',
};

export function StatementPanel() {
  const userId = user.value?.userId ?? '';
  const filter = useSignal<LedgerFilter>({});
  const problem = useSignal<string | undefined>(undefined);
  const about = `${userId} ${JSON.stringify(filter.value)}`;
  return (
    <div class="stack">
      <Panel title="What to show">
        <FilterForm filter={filter} problem={problem} />
      </Panel>
      <Panel title="Statement" extra={<Download userId={userId} filter={filter} />}>
        <Paged
          about={about}
          read={async (cursor) => {
            try {
              const page = await ledger(api, userId, { ...filter.peek(), cursor });
              return { entries: page.entries, nextCursor: page.nextCursor };
            } catch (error) {
              if (!isRefusal(error) || problemOf(error, 'marketId') === null) throw error;
              problem.value = 'No market has this id.';
              return { entries: [], nextCursor: null };
            }
          }}
        >
          {(entries) => <Entries of={entries} />}
        </Paged>
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
      <div class="field">
        <label for="cause">Cause</label>
        <select
          id="cause"
          value={cause.value}
          onChange={({ currentTarget }) => {
            cause.value = currentTarget.value as Cause | '';
          }}
        >
          <option value="">All</option>
          {Object.entries(CAUSES).map(([value, label]) => (
            <option key={value} value={value}>
              {label}
            </option>
          ))}
        </select>
      </div>
      <TextField
        label="Market, by its id"
        name="marketId"
        autocomplete="off"
        value={marketId}
        problem={props.problem.value}
      />
      <TextField label="First day" name="from" type="date" autocomplete="off" value={from} />
      <TextField
        label="Last day"
        name="to"
        type="date"
        autocomplete="off"
        value={to}
        problem={dayProblem.value}
      />
      <button type="submit" class="plain strong">
        Show
      </button>
    </form>
  );
}

function Download({ userId, filter }: { userId: string; filter: Signal<LedgerFilter> }) {
  const said = useSignal('');
  const run = () =>
    saveStatement(userId, filter.peek(), (entries) => {
      said.value = `${entries} ${entries === 1 ? 'entry' : 'entries'}`;
    });
  return (
    <span class="actions">
      <span class="soft" role="status">
        {said.value}
      </span>
      <Action run={run}>Save as CSV</Action>
    </span>
  );
}

function Entries({ of }: { of: readonly Entry[] }) {
  return (
    <Table
      label="Statement"
      heads={['For', 'Time', 'Available', 'Held', 'Shares', 'Available after', 'Sequence']}
      nothing="No entry."
      rows={of.map((each, index) => ({ key: `${each.sequence} ${index}`, cells: cellsOf(each) }))}
    />
  );
}

function cellsOf({ cause, marketId, atMs, available, held, balance, sequence, ...rest }: Entry) {
  return [
    <>
      {CAUSES[cause]}{' '}
      {marketId !== null && <a href={`#/market/${marketId}`}>{slotName(marketId)}</a>}
    </>,
    dayAndSeconds(atMs),
    changed(available),
    changed(held),
    rest.shares === null ? (
      ''
    ) : (
      <>
        {rest.shares.change > 0 ? '+' : '\u2212'}
        {shares(Math.abs(toLots(rest.shares.change)))} <Outcome of={rest.shares.outcome} />
      </>
    ),
    dollars(toMicros(balance.available)),
    `${sequence}`,
  ];
}

function changed(amount: number): string {
  return amount === 0 ? '' : gain(toMicros(amount));
}
