/** The exchange's status, read every two seconds. */
import { useEffect } from 'preact/hooks';
import { type Status, status } from '../../../client/index.js';
import { publicApi } from '../model/exchange.js';
import { assetPrice, clockSeconds, dayAndTime, duration, whole } from '../parts/format.js';
import { Fact, Panel, Table } from '../parts/panel.js';
import { Read, useReading } from '../parts/reading.js';
import { locale, t } from '../words/words.js';

const READ_EVERY_MS = 2_000;
const JOURNALS = {
  local: t('on the disk of its machine'),
  replicated: t('on two machines'),
  unreplicated: t('in a database without replication'),
} as const;

const PARTS: Record<Status['failing'][number], string> = {
  history: t('history'),
  leaderboards: t('leaderboards'),
  dayFiles: t('new day files'),
  snapshots: t('new snapshots'),
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
        <h1>{t('Status')}</h1>
      </div>
      <Read of={reading}>{(now) => <p class="lead">{sentenceOf(now)}</p>}</Read>
      <div class="columns">
        <Panel title={t('Exchange')}>
          <div class="panel-body">
            <Read of={reading}>
              {(now) => (
                <dl class="forecast">
                  <Fact label={t('Version')} value={now.version} />
                  <Fact label={t('Started')} value={dayAndTime(now.startedAtMs)} />
                  <Fact label={t('Running for')} value={duration(now.nowMs - now.startedAtMs)} />
                  <Fact label={t('Sequence')} value={whole(now.sequence)} />
                  <Fact label={t('Durable up to')} value={whole(now.durableSequence)} />
                  <Fact label={t('Journal')} value={JOURNALS[now.journal]} />
                  <Fact label={t('Hash of all results')} value={now.digest} />
                </dl>
              )}
            </Read>
          </div>
        </Panel>
        <Panel title={t('Prices')}>
          <Read of={reading}>{(now) => <Prices of={now.prices} />}</Read>
        </Panel>
      </div>
    </>
  );
}

function sentenceOf(now: Pick<Status, 'prices' | 'paused' | 'failing' | 'journalDamaged'>): string {
  const { prices, paused, failing, journalDamaged } = now;
  const listed = new Intl.ListFormat(locale, { type: 'conjunction' });
  if (paused.length > 0)
    return t(
      'New orders are paused: {0}. {1}',
      listed.format(paused),
      sentenceOf({ ...now, paused: [] }),
    );
  if (failing.length > 0) {
    const parts = listed.format(failing.map((part) => PARTS[part]));
    return t(
      'Trading works, but this may be unavailable now: {0}. {1}',
      parts,
      sentenceOf({ ...now, failing: [] }),
    );
  }
  if (journalDamaged)
    return t(
      "Trading works, but an old part of the exchange's records is damaged or missing. The operator needs to repair it. {0}",
      sentenceOf({ ...now, journalDamaged: false }),
    );
  const named = (wrong: (price: Status['prices'][number]) => boolean) =>
    listed.format(prices.filter(wrong).map(({ asset }) => asset));
  const held = named((price) => price.held !== null);
  const silent = named((price) => !price.sources.some(({ isFresh }) => isFresh));
  if (held !== '')
    return t(
      'The latest price of {0} is not used yet, because it is far from the one before.',
      held,
    );
  if (silent !== '') return t('No fresh price: {0}. Markets of these assets wait for one.', silent);
  return t('The exchange is up, and every asset has a fresh price.');
}

function Prices({ of }: { of: Status['prices'] }) {
  const rows = of.map(({ asset, price, observedAtMs, held, sources }) => ({
    key: asset,
    cells: [
      asset,
      price === null ? '\u2013' : assetPrice(price),
      observedAtMs === null ? '\u2013' : clockSeconds(observedAtMs),
      held === null
        ? t('{0} of {1}', sources.filter(({ isFresh }) => isFresh).length, sources.length)
        : t('{0} not used yet: too far from the last price', assetPrice(held.price)),
    ],
  }));
  const heads = [t('Asset'), t('Price'), t('Observed'), t('Fresh sources')];
  return <Table label={t('Prices')} heads={heads} rows={rows} nothing={t('No assets.')} />;
}
