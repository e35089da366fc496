/** The exchange's status, read every two seconds. */
import { useEffect } from 'preact/hooks';
import { type Status, status } from '../../../client/index.js';
import { publicApi } from '../model/exchange.js';
import { assetPrice, clockSeconds, dayAndTime, duration, whole } from '../parts/format.js';
import { Fact, Panel, Table } from '../parts/panel.js';
import { Read, useReading } from '../parts/reading.js';
import { MetricsPanels } from './metrics-panels.js';

const READ_EVERY_MS = 2_000;
const JOURNALS = {
  local: 'on the disk of its machine',
  replicated: 'on two machines',
  unreplicated: 'in a database without replication',
} as const;

const PARTS: Record<Status['failing'][number], string> = {
  history: 'history',
  leaderboards: 'leaderboards',
  dayFiles: 'new files of days',
  snapshots: 'new snapshots',
};

export function StatusView() {
  const reading = useReading(() => status(publicApi), 'status');
  const { again } = reading;
  useEffect(() => {
    const timer = setInterval(() => void again(), READ_EVERY_MS);
    return () => clearInterval(timer);
  }, [again]);
  return (
    <>
      <div class="page-head">
        <h1>Status</h1>
      </div>
      <Read of={reading}>{(now) => <p class="lead">{sentenceOf(now)}</p>}</Read>
      <div class="columns">
        <Panel title="Exchange">
          <div class="panel-body">
            <Read of={reading}>
              {(now) => (
                <dl class="forecast">
                  <Fact label="Version" value={now.version} />
                  <Fact label="Started" value={dayAndTime(now.startedAtMs)} />
                  <Fact label="Running for" value={duration(now.nowMs - now.startedAtMs)} />
                  <Fact label="Sequence" value={whole(now.sequence)} />
                  <Fact label="Durable up to" value={whole(now.durableSequence)} />
                  <Fact label="Journal" value={JOURNALS[now.journal]} />
                  <Fact label="Digest of the state" value={now.digest} />
                </dl>
              )}
            </Read>
          </div>
        </Panel>
        <Panel title="Prices">
          <Read of={reading}>{(now) => <Prices of={now.prices} />}</Read>
        </Panel>
        <MetricsPanels />
      </div>
    </>
  );
}

function sentenceOf(now: Pick<Status, 'prices' | 'paused' | 'failing' | 'journalDamaged'>): string {
  const { prices, paused, failing, journalDamaged } = now;
  const listed = new Intl.ListFormat('en', { type: 'conjunction' });
  if (paused.length > 0)
    return `New orders are paused: ${listed.format(paused)}. ${sentenceOf({ ...now, paused: [] })}`;
  if (failing.length > 0) {
    const parts = listed.format(failing.map((part) => PARTS[part]));
    return `Trading works, but there may be none of this now: ${parts}. ${sentenceOf({ ...now, failing: [] })}`;
  }
  if (journalDamaged)
    return `Trading works, but an old part of the journal is damaged or missing. Its operator should run the doctor. ${sentenceOf({ ...now, journalDamaged: false })}`;
  const named = (wrong: (price: Status['prices'][number]) => boolean) =>
    listed.format(prices.filter(wrong).map(({ asset }) => asset));
  const held = named((price) => price.held !== null);
  const silent = named((price) => !price.sources.some(({ isFresh }) => isFresh));
  if (held !== '') return `The price of ${held} is held back because it is far from the last one.`;
  if (silent !== '') return `No fresh price: ${silent}. Markets of these assets wait for one.`;
  return 'The exchange is up, and every asset has a fresh price.';
}

function Prices({ of }: { of: Status['prices'] }) {
  const rows = of.map(({ asset, price, observedAtMs, held, sources }) => ({
    key: asset,
    cells: [
      asset,
      price === null ? '\u2013' : assetPrice(price),
      observedAtMs === null ? '\u2013' : clockSeconds(observedAtMs),
      held === null
        ? `${sources.filter(({ isFresh }) => isFresh).length} of ${sources.length}`
        : `${assetPrice(held.price)} is held back`,
    ],
  }));
  const heads = ['Asset', 'Price', 'Observed', 'Fresh sources'];
  return <Table label="Prices" heads={heads} rows={rows} nothing="No asset." />;
}
