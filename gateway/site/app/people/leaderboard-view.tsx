/** The leaderboard by profit, volume or points, over all time, the day or the week. */
import { useSignal } from '@preact/signals';
import { leaderboard, toMicros } from '../../../client/index.js';
import { publicApi } from '../model/exchange.js';
import { user } from '../model/session.js';
import { bound, Choice } from '../parts/action.js';
import { dollars, gain } from '../parts/format.js';
import { Paged } from '../parts/reading.js';
import { t } from '../words/words.js';

const METRICS = [
  { value: 'profit', label: t('Profit') },
  { value: 'volume', label: t('Volume') },
  { value: 'points', label: t('Points') },
] as const;
const PERIODS = [
  { value: 'all', label: t('All time') },
  { value: 'week', label: t('Week') },
  { value: 'day', label: t('Day') },
] as const;
type Metric = (typeof METRICS)[number]['value'];
type Period = (typeof PERIODS)[number]['value'];

function valueText(metric: Metric, value: number): string {
  if (metric === 'points') return `${value}`;
  return metric === 'profit' ? gain(toMicros(value)) : dollars(toMicros(value));
}

export function LeaderboardView() {
  const metric = useSignal<Metric>('profit');
  const period = useSignal<Period>('all');
  const [by, over] = [metric.value, period.value];
  const own = user.value?.userId;
  return (
    <>
      <div class="page-head">
        <h1>{t('Leaderboard')}</h1>
        <div class="actions">
          <Choice label={t('Ranked by')} options={METRICS} {...bound(metric)} />
          <Choice label={t('Period')} options={PERIODS} {...bound(period)} />
        </div>
      </div>
      <Paged
        title={METRICS.find(({ value }) => value === by)!.label}
        about={`${by} ${over}`}
        list="entries"
        read={(cursor) => leaderboard(publicApi, { metric: by, period: over, cursor })}
        heads={[t('Rank, name'), METRICS.find(({ value }) => value === by)!.label]}
        nothing={t('There are no ranks for this period yet.')}
        rows={(entries) =>
          entries.map((each) => ({
            key: each.userId,
            cells: [
              <>
                <span class="rank">{each.rank}</span>{' '}
                <a href={`#/user/${each.userId}`}>{each.username}</a>
                {each.userId === own && <span class="soft"> {t('(you)')}</span>}
              </>,
              valueText(by, each.value),
            ],
          }))
        }
      />
    </>
  );
}
